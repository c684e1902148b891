// What is known of each byte of a block's shared memory: whether it was written, by whom last, who
// has read it since the last barrier.
//
// Two accesses race when they touch the same byte, at least one of them is a plain write (or one is
// atomic and the other is not), and nothing orders them. What orders accesses of a block:
// - its barrier, all of them;
// - a barrier of some of its warps, what these did before and do then (sim/warp_order.hpp); where
//   lanes of a warp come to it apart from the others, they stand for their warp;
// - the end of a phase of an mbarrier, all of them: more than it does for threads that do not wait
//   for it, so that a race between such threads is missed there and none is made up;
// - between lanes of one warp, that they run together or have met since (sim/lane_order.hpp).
// Lanes that write the same byte in one instruction race unless they write the same value. Between
// warps nothing but barriers counts: a flag in shared memory that one warp writes and another one
// spins on is a race, as compute-sanitizer's racecheck has it.
//
// Loads may read what nobody has written as long as no instruction uses it
// (sim/undefined_registers.hpp).
//
// What cp.async writes counts as written by its thread when that thread has waited for the copy.
//
// Bytes are kept in cells, as wide as the narrowest access so far: those of an access are whole
// cells, so nothing is lost.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/lane_order.hpp"
#include "sim/memory_access.hpp"
#include "sim/warp_order.hpp"

namespace gpuexp::sim {

/// Who accesses: a warp, which of its lanes run together, and whether these are all that are left.
struct Accessor {
  unsigned warp = 0;
  LaneMask running = 0;
  bool is_whole = true;
  const LaneOrder* order = nullptr;
  std::uint32_t place = 0;  ///< of the instruction in the program
};

/// An access that was noted before.
struct PastAccess {
  std::uint32_t thread = 0;
  std::uint32_t place = 0;
};

/// What is wrong with an access.
struct Conflict {
  enum class Kind : std::uint8_t {
    unwritten,        ///< reads what nobody has written
    is_copied,        ///< cp.async, not waited for, writes there
    after_write,      ///< races with a write
    after_read,       ///< a write that races with a read
    same_instruction  ///< lanes write different values
  };
  Kind kind = Kind::unwritten;
  unsigned lane = 0;
  std::uint64_t address = 0;
  PastAccess other;
  LaneMask lanes = 0;  ///< where `unwritten`: all that do
};

class SharedShadow {
 public:
  /// `has_counted_barriers`: some of the block's barriers may be of a part of its warps.
  SharedShadow(std::size_t bytes, std::size_t warps, bool has_counted_barriers = false);

  BlockTime& clock() { return clock_; }

  /// Notes an access whose addresses are aligned and inside. What is found wrong comes back.
  std::optional<Conflict> note(const Accessor& who, const MemoryAccess& access);
  /// The lanes' copies since the last commit are one group (cp.async.commit_group).
  void commit_copies(unsigned warp, LaneMask lanes);
  /// All but the lanes' `left` newest groups are there (cp.async.wait_group).
  void wait_for_copies(unsigned warp, LaneMask lanes, std::uint32_t left);
  /// All threads have met, or a phase of an mbarrier has ended.
  void release_barrier();
  /// A warp has come to a barrier that may be of a part of the block's warps.
  void arrive(unsigned barrier, unsigned warp) { warp_order_.arrive(barrier, warp); }
  /// The barrier is complete (WarpOrder::release).
  void release_barrier(unsigned barrier, WarpMask waiters, WarpMask whole) {
    warp_order_.release(barrier, waiters, whole);
  }
  /// A bulk copy or another block has written the bytes; what orders that is not asked for. Both
  /// are multiples of 16 or of a width.
  void set_written(std::uint64_t address, std::size_t bytes);
  /// The first address in the range that nothing has written.
  std::optional<std::uint64_t> first_unwritten(std::uint64_t address, std::size_t bytes);

 private:
  /// A thread, what it did and where, in 32 bits.
  using Record = std::uint32_t;
  struct LoneRead {
    BlockTime time = 0;
    LaneMask lanes = 0;
    unsigned warp = 0;
  };
  struct PendingCopy {
    Lanes64 address;
    Lanes32 group;
    LaneMask lanes = 0;
    unsigned width = 0;
  };
  struct CopyState {
    std::vector<PendingCopy> pending;
    Lanes32 group{};  ///< that the next copy of a lane belongs to
  };

  /// Of one warp, by cell: when it last did something there, and which thread where. Empty until it
  /// does.
  struct WarpPast {
    std::vector<BlockTime> time;
    std::vector<Record> record;
  };

  /// Cells that lanes one after the other touch, one after the other as well.
  struct Run {
    std::size_t first;
    std::size_t cells;
    unsigned lane;  ///< the first
  };
  struct Runs {
    std::array<Run, kLanes> all;
    unsigned count = 0;
  };

  void fit(unsigned width);
  void fit_range(std::uint64_t address, std::size_t bytes);
  Runs runs_of(const MemoryAccess& access) const;
  bool read_at_once(const Accessor& who, const MemoryAccess& access, const Runs& runs);
  bool is_free_to_write(const Accessor& who, const Runs& runs) const;
  /// By cell.
  void set_cells(const Accessor& who, const MemoryAccess& access, const Runs& runs, BlockTime time,
                 std::vector<BlockTime>& times, std::vector<Record>& records) const;
  void set_atomic(const Accessor& who, const MemoryAccess& access);
  bool is_ordered(const Accessor& who, unsigned lane, std::size_t cell) const;
  BlockTime known(unsigned warp, unsigned about) const;
  std::optional<Record> find_unordered(const Accessor& who, const std::vector<WarpPast>& past,
                                       std::size_t cell, WarpMask of) const;
  bool races_with_reader(const Accessor& who, std::size_t cell) const;
  WarpPast& past_of(std::vector<WarpPast>& all, unsigned warp) const;
  void note_reads(const Accessor& who, const MemoryAccess& access, const Runs& runs);
  std::optional<Conflict> read(const Accessor& who, const MemoryAccess& access);
  std::optional<Conflict> write(const Accessor& who, const MemoryAccess& access);
  std::optional<Conflict::Kind> read_cell(const Accessor& who, unsigned lane, std::size_t cell);
  std::optional<Conflict::Kind> check_write(const Accessor& who, Access kind, unsigned lane,
                                            std::size_t cell) const;
  bool races_with_lone_read(const Accessor& who, unsigned lane, std::size_t cell) const;
  std::optional<Conflict> find_overlap(const Accessor& who, const MemoryAccess& access) const;
  Conflict conflict(const Accessor& who, Conflict::Kind kind, unsigned lane, std::size_t cell,
                    std::uint64_t address) const;
  void touch(std::size_t first, std::size_t end);

  BlockTime clock_ = 2;
  BlockTime barrier_ = 1;  ///< what was before is before all that comes
  unsigned shift_;         ///< of an address to its cell
  /// By cell:
  std::vector<BlockTime> written_;  ///< 0: never
  std::vector<Record> writer_;
  std::vector<std::uint32_t> readers_;  ///< warps, since the barrier
  std::vector<Record> reader_;          ///< the first of the last of these
  std::vector<LoneRead> lone_reads_;    ///< by part of a warp; empty until there is one
  /// Cells read since the barrier.
  std::size_t touched_begin_;
  std::size_t touched_end_ = 0;
  std::vector<CopyState> copies_;  ///< by warp
  WarpOrder warp_order_;
  std::vector<WarpPast> atomics_;  ///< by warp
  std::vector<WarpPast> reads_;    ///< by warp; none where all barriers are of the whole block
};

}  // namespace gpuexp::sim
