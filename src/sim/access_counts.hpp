// What memory instructions ask for, counted as the hardware counts it.
#pragma once

#include <array>
#include <cstdint>

#include "sim/memory_access.hpp"

namespace gpuexp::sim {

struct MemoryCounts {
  std::uint64_t load_requests = 0;
  std::uint64_t load_sectors = 0;
  std::uint64_t store_requests = 0;
  std::uint64_t store_sectors = 0;
  std::uint64_t atomic_requests = 0;     ///< of global memory, for the old values
  std::uint64_t reduction_requests = 0;  ///< likewise, for nothing
  std::uint64_t global_wavefronts = 0;   ///< of L1's data stage
  /// In which L1's tag stage finds the lines if each is looked up once.
  std::uint64_t tag_wavefronts = 0;
  /// Those of cp.async, which are not among the above: of the lines that it reads, and one in which
  /// it writes to shared memory. An H200 counts a further one of the commit behind them
  /// (LDGDEPBAR).
  std::uint64_t async_tag_wavefronts = 0;
  std::uint64_t shared_load_wavefronts = 0;
  std::uint64_t shared_store_wavefronts = 0;
  /// Of the two above, those beyond the least that so many bytes take.
  std::uint64_t shared_conflicts = 0;
  std::uint64_t local_load_requests = 0;
  std::uint64_t local_load_sectors = 0;
  std::uint64_t local_store_requests = 0;
  std::uint64_t local_store_sectors = 0;
  /// Accesses whose wavefronts of the data stage are not known: atomics, those of other blocks'
  /// shared memory, and of local memory where lanes name different words; and those whose
  /// wavefronts of L1's tag stage are not, of local memory all that have several lines.
  std::uint64_t other_accesses = 0;
  std::uint64_t other_tag_accesses = 0;

  MemoryCounts& operator+=(const MemoryCounts& more);

  using Count = std::uint64_t MemoryCounts::*;
  static const std::array<Count, 18> kAll;
};
inline constexpr std::array<MemoryCounts::Count, 18> MemoryCounts::kAll{
    &MemoryCounts::load_requests,           &MemoryCounts::load_sectors,
    &MemoryCounts::store_requests,          &MemoryCounts::store_sectors,
    &MemoryCounts::atomic_requests,         &MemoryCounts::reduction_requests,
    &MemoryCounts::global_wavefronts,       &MemoryCounts::tag_wavefronts,
    &MemoryCounts::async_tag_wavefronts,    &MemoryCounts::shared_load_wavefronts,
    &MemoryCounts::shared_store_wavefronts, &MemoryCounts::shared_conflicts,
    &MemoryCounts::local_load_requests,     &MemoryCounts::local_load_sectors,
    &MemoryCounts::local_store_requests,    &MemoryCounts::local_store_sectors,
    &MemoryCounts::other_accesses,          &MemoryCounts::other_tag_accesses};

/// Lanes whose accesses of shared memory go together: those of 8 bytes go in halves of a warp, of
/// 16 in quarters; where lanes are paired, twice as many go together (NVIDIA developer forum, topic
/// 77228; on an H200 a broadcast of 16 bytes takes 2 wavefronts, and 8 pieces of 16 bytes take 2
/// where neighbouring lanes share them, 4 where lanes i and i^8 do).
unsigned lanes_per_turn(const MemoryAccess& access);

/// Of an access of shared memory.
struct SharedWavefronts {
  unsigned all = 0;
  unsigned conflicts = 0;  ///< beyond the least that so many bytes take
};

/// Words that an access of local memory names in each lane's own.
unsigned local_words(const MemoryAccess& access);
/// Where the lanes' `word`-th words of an access of local memory lie: those of one address are 128
/// bytes in a row, a line, and those of the next address the line behind it (CUDA C++ Programming
/// Guide, "Local memory": consecutive words are accessed by consecutive threads).
Lanes64 interleaved(const MemoryAccess& access, unsigned word);

/// Of an access of global memory.
struct GlobalCounts {
  std::uint64_t sectors = 0;
  unsigned tag_wavefronts = 0;     ///< in which L1's tag stage finds their lines
  unsigned bank_wavefronts = 0;    ///< in which L1's data stage delivers them, if it has them
  unsigned missed_wavefronts = 0;  ///< and if it has none of them
};

/// What an access of global memory touches.
struct GlobalTouch {
  std::array<std::uint64_t, kLanes + 1> sectors;  ///< their numbers, ascending, each once
  std::size_t count = 0;                          ///< of these
  unsigned tag_wavefronts = 0;                    ///< as GlobalCounts has them
  unsigned bank_wavefronts = 0;
  unsigned missed_wavefronts = 0;
};
GlobalTouch touch_of(const MemoryAccess& access);

/// Wavefronts of an access of shared memory.
unsigned shared_wavefronts(const MemoryAccess& access);

/// What an instruction's accesses of one space came to the last time, for the next ones, which
/// often come to the same: where lanes lie as far from each other, they meet in banks as they did,
/// and share sectors as they did where they lie as far behind the begin of a line, or whole lines
/// apart. Which lines meet in a bank of the tags depends on their numbers.
class AccessMemo {
 public:
  SharedWavefronts wavefronts(const MemoryAccess& access);
  /// Of global memory, all but the sectors' numbers.
  GlobalCounts touches(const MemoryAccess& access);
  GlobalTouch touch(const MemoryAccess& access);
  /// Of an asynchronous load past L1, whose sectors go to shared memory directly. A wavefront finds
  /// lines that go to the same 512 bytes there, and at most one for each 128 of these; it finds the
  /// fewer, the more lines share 128 bytes: four where each has its own, two where two share, one
  /// where four do. Found on an H200 from copies in 272 patterns: 246 take what this says, among
  /// them all whose rows lie side by side in shared memory or have 128 bytes each.
  unsigned tag_wavefronts_past_l1(const MemoryAccess& access);

 private:
  bool is_like(const MemoryAccess& access, std::uint64_t period) const;
  void remember(const MemoryAccess& access);
  void remember_touch(const MemoryAccess& access);

  unsigned width_ = 0;  ///< 0: there was no access
  LaneMask lanes_ = 0;
  std::uint64_t begin_ = 0;       ///< lane 0's address
  Lanes64 apart_;                 ///< of each lane's address from that
  std::uint64_t apart_bits_ = 0;  ///< of any of these
  SharedWavefronts wavefronts_;
  // Numbers from those of lane 0's address on, ascending, each once.
  Lanes64 sectors_;
  Lanes64 lines_;
  unsigned sector_count_ = 0;
  unsigned line_count_ = 0;
  unsigned bank_wavefronts_ = 0;
  unsigned tag_wavefronts_ = 0;     ///< where lane 0's line is tag_line_; 0: not known
  unsigned missed_wavefronts_ = 0;  ///< likewise
  std::uint64_t tag_line_ = 0;
  // Of the last copy past L1: its lanes and where lane 0's source lies within a line, its
  // destination within 512 bytes; where those of the others lie from lane 0's; and the wavefronts
  // that destinations ask for.
  struct CopyPlace {
    LaneMask lanes = 0;
    std::uint64_t in_line = 0;
    std::uint64_t in_group = 0;
    bool operator==(const CopyPlace&) const = default;
  };
  CopyPlace copy_place_;
  Lanes64 sources_apart_{};
  Lanes64 destinations_apart_{};
  unsigned destination_wavefronts_ = 0;
};

/// Adds an access to the counts of its block.
void count(MemoryCounts& counts, const MemoryAccess& access);

}  // namespace gpuexp::sim
