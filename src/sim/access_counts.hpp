// Requests, sectors and wavefronts of memory instructions, as hardware counters count them.
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
  std::uint64_t atomic_requests = 0;     ///< global atomics that return the old value (ATOM)
  std::uint64_t reduction_requests = 0;  ///< global atomics that return no value (RED)
  /// L1 data-stage wavefronts of global and local loads and stores, and of the shared memory writes
  /// of cp.async.
  std::uint64_t global_wavefronts = 0;
  /// L1 tag-stage wavefronts of global and local loads and stores, if the tag stage looks up each
  /// line of an access once.
  std::uint64_t tag_wavefronts = 0;
  /// L1 tag-stage wavefronts of cp.async, not included in tag_wavefronts: wavefronts for the lines
  /// read, and one per instruction for the write to shared memory. An H200 also counts one per
  /// commit (LDGDEPBAR).
  std::uint64_t async_tag_wavefronts = 0;
  std::uint64_t shared_load_wavefronts = 0;
  std::uint64_t shared_store_wavefronts = 0;
  /// Wavefronts of shared memory loads, stores and cp.async writes beyond one per pass
  /// (lanes_per_pass()).
  std::uint64_t shared_conflicts = 0;
  std::uint64_t local_load_requests = 0;
  std::uint64_t local_load_sectors = 0;
  std::uint64_t local_store_requests = 0;
  std::uint64_t local_store_sectors = 0;
  /// Number of accesses whose data-stage wavefronts are not modelled: atomics, accesses to other
  /// blocks' shared memory, and local accesses whose lanes have different addresses.
  std::uint64_t other_accesses = 0;
  /// Number of accesses whose tag-stage wavefronts are not modelled: atomics outside of shared
  /// memory, accesses to other blocks' shared memory, and local accesses to several lines.
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

/// Number of lanes whose shared memory accesses are processed together: 32 for up to 4 bytes per
/// lane, 16 for 8 bytes, 8 for 16 bytes. For 8 and 16 bytes, the number doubles if lanes i and i^1,
/// or lanes i and i^2, have equal addresses for all i (NVIDIA developer forum, topic 77228). On an
/// H200, an access to 8 vectors of 16 bytes takes 2 wavefronts if neighbouring lanes share a
/// vector, and 4 if lanes i and i^8 share one.
unsigned lanes_per_pass(const MemoryAccess& access);

struct SharedWavefronts {
  unsigned all = 0;
  unsigned conflicts = 0;
};

unsigned local_words(const MemoryAccess& access);
/// Address of each lane's `word`-th word of a local memory access. The words of all lanes at one
/// local address fill a line of 128 bytes, and the words at the next local address fill the next
/// line (CUDA C++ Programming Guide, "Local memory").
Lanes64 interleaved_addresses(const MemoryAccess& access, unsigned word);

struct GlobalCounts {
  std::uint64_t sectors = 0;
  unsigned tag_wavefronts = 0;     ///< tag-stage wavefronts that look up the access's lines
  unsigned bank_wavefronts = 0;    ///< data-stage wavefronts if L1 holds all these lines
  unsigned missed_wavefronts = 0;  ///< data-stage wavefronts if L1 holds none of these lines
};

/// Sectors and wavefronts of an access to global memory, with the sector numbers.
struct GlobalTouch {
  std::array<std::uint64_t, kLanes + 1> sectors;  ///< sector numbers, ascending, no duplicates
  std::size_t count = 0;
  unsigned tag_wavefronts = 0;
  unsigned bank_wavefronts = 0;
  unsigned missed_wavefronts = 0;
  bool has_partial_sectors = false;  ///< the lanes' words do not fill all sectors
};
GlobalTouch touch_of(const MemoryAccess& access);

unsigned shared_wavefronts(const MemoryAccess& access);

/// Keeps the counts of an instruction's last access to global or to other memory, because the next
/// access often has the same counts. Bank conflicts repeat if the distances between the lanes'
/// addresses repeat. Sectors repeat if, in addition, lane 0 has the same offset in its line, or all
/// distances are whole lines. Tag-stage wavefronts depend on line numbers, so they are kept for one
/// line of lane 0.
class AccessMemo {
 public:
  SharedWavefronts wavefronts(const MemoryAccess& access);
  GlobalCounts touches(const MemoryAccess& access);
  GlobalTouch touch(const MemoryAccess& access);
  /// Tag-stage wavefronts that read the lines of a cp.async.cg, which bypasses L1: the larger of
  /// the numbers that tag banks and destinations require. One wavefront serves lines that are
  /// copied to the same 512 bytes of shared memory: four lines if each has its own 128 bytes, two
  /// lines if two share 128 bytes, and one line if four share them. Derived on an H200 from copies
  /// in 272 patterns: 246 take this number of wavefronts, among them all patterns whose rows are
  /// contiguous in shared memory or have 128 bytes each.
  unsigned tag_wavefronts_past_l1(const MemoryAccess& access);

 private:
  bool matches(const MemoryAccess& access, std::uint64_t period) const;
  void remember(const MemoryAccess& access);
  void remember_touch(const MemoryAccess& access);

  unsigned width_ = 0;
  LaneMask lanes_ = 0;
  std::uint64_t begin_ = 0;        ///< lane 0's address
  Lanes64 offsets_;                ///< each lane's address minus lane 0's
  std::uint64_t offset_bits_ = 0;  ///< bitwise or of offsets_
  SharedWavefronts wavefronts_;
  // Sector and line numbers minus the numbers of lane 0, ascending, without duplicates.
  Lanes64 sectors_;
  Lanes64 lines_;
  unsigned sector_count_ = 0;
  unsigned line_count_ = 0;
  unsigned bank_wavefronts_ = 0;
  unsigned tag_wavefronts_ = 0;     ///< valid if lane 0's line is tag_line_; 0: unknown
  unsigned missed_wavefronts_ = 0;  ///< valid if lane 0's line is tag_line_
  std::uint64_t tag_line_ = 0;
  // Last cp.async.cg: its lanes, lane 0's source offset in a line of 128 bytes, and lane 0's
  // destination offset in a group of 512 bytes.
  struct CopyPlace {
    LaneMask lanes = 0;
    std::uint64_t in_line = 0;
    std::uint64_t in_group = 0;
    bool operator==(const CopyPlace&) const = default;
  };
  CopyPlace copy_place_;
  Lanes64 source_offsets_{};       ///< each lane's source minus lane 0's
  Lanes64 destination_offsets_{};  ///< each lane's destination minus lane 0's
  unsigned destination_wavefronts_ = 0;
};

void count(MemoryCounts& counts, const MemoryAccess& access);

}  // namespace gpuexp::sim
