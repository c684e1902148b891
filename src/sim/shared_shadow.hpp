// State of each byte of a block's shared memory: whether it was written, which thread wrote it
// last, and which warps have read it since the last barrier.
//
// Two accesses race if they touch the same byte, nothing orders them, and one of them is a plain
// write or only one of them is atomic. Accesses of a block are ordered by these events:
//
// - A barrier of the whole block orders all accesses.
// - A barrier of some warps orders their earlier accesses before later accesses of the warps that
//   wait (sim/warp_order.hpp). Lanes of a warp that arrive separately count as their warp.
// - A store or atomic operation after a fence (MEMBAR) orders the accesses before the fence before
//   later accesses of a warp that reads the value as a flag: by a load that polls
//   (sim/poll_loops.hpp), by a strong load, or by an atomic operation. Machine code does not show
//   whether such a read is an acquire operation, so each counts as one. Fences and flags of a lane
//   count as those of its warp.
// - The end of an mbarrier phase orders all accesses. The hardware orders only threads that wait
//   for the phase. Races between other threads are missed, but no race is reported wrongly.
// - Lanes of one warp are ordered if they execute together or have reconverged between the accesses
//   (sim/lane_order.hpp).
//
// Lanes that write the same byte in one instruction race unless the values are equal. A store of
// the values that the bytes have does not race with the store before it: several warps may set a
// variable to one value. A read races with these equal stores unless one of them precedes it, and a
// write of another value unless all of them do. Reads of a flag do not race, nor do writes of bytes
// that were read as a flag since the last barrier.
//
// Loads may read unwritten bytes if no instruction uses the result (sim/undefined_registers.hpp). A
// write by cp.async is recorded as a write of the issuing thread when that thread has waited for
// the copy, or as a write of the first thread that has waited for the phase of an mbarrier at which
// the copy arrives.
//
// State is kept per cell. A cell is as wide as the narrowest access so far, so every access covers
// whole cells.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/lane_order.hpp"
#include "sim/memory_access.hpp"
#include "sim/pending_copies.hpp"
#include "sim/warp_order.hpp"

namespace gpuexp::sim {

/// A warp that executes an instruction, its active lanes, and whether they are all lanes that have
/// not exited.
struct Accessor {
  unsigned warp = 0;
  LaneMask running = 0;
  bool is_whole = true;
  const LaneOrder* order = nullptr;
  std::uint32_t place = 0;
};

struct PastAccess {
  std::uint32_t thread = 0;
  std::uint32_t place = 0;
  bool is_known = true;  ///< false: only the thread's warp is known
};

struct Conflict {
  enum class Kind : std::uint8_t {
    unwritten,
    is_copied,    ///< accesses bytes that cp.async is still copying
    not_awaited,  ///< bytes of a cp.async that completes a phase for which the warp did not wait
    after_write,  ///< races with an earlier write
    after_read,   ///< a write that races with an earlier read
    same_instruction  ///< lanes of one instruction write different values
  };
  Kind kind = Kind::unwritten;
  unsigned lane = 0;
  std::uint64_t address = 0;
  PastAccess other;
  LaneMask lanes = 0;  ///< for `unwritten`: all lanes that read unwritten bytes
};

class SharedShadow {
 public:
  /// `orders_warps`: barriers, flags or mbarriers may order only some warps of the block.
  SharedShadow(std::size_t bytes, std::size_t warps, bool orders_warps = false);

  BlockTime& clock() { return clock_; }
  /// The block's shared memory, valid as long as this object. Without it, each unordered write
  /// after a write races.
  void set_contents(const std::byte* contents) { contents_ = contents; }

  /// Records an access whose addresses are aligned and within bounds. Returns its error, if any.
  std::optional<Conflict> note(const Accessor& who, const MemoryAccess& access);
  /// Assigns the lanes' copies since their last commit to one group (cp.async.commit_group).
  void commit_copies(unsigned warp, LaneMask lanes);
  /// Completes all but the `left` newest groups of the lanes (cp.async.wait_group).
  void wait_for_copies(unsigned warp, LaneMask lanes, std::uint32_t left);
  /// Call before an arrival at the mbarrier in two words (sim/mbarrier_words.hpp), so that loads of
  /// these words count as waits.
  void add_mbarrier(std::uint64_t mbarrier) { copies_.add_mbarrier(mbarrier); }
  /// The completion of a lane's earlier copies arrives at an mbarrier (cp.async.mbarrier.arrive).
  /// Call it before the arrival takes effect.
  void arrive_after_copies(std::uint64_t mbarrier, unsigned warp, unsigned lane) {
    copies_.arrive(mbarrier, warp, lane);
  }
  void end_phase(std::uint64_t mbarrier) { copies_.end_phase(mbarrier); }
  /// Call when `lane` has found that the latest phase of the mbarrier has ended.
  void wait_for_phase(const Accessor& who, unsigned lane, std::uint64_t mbarrier);
  void fence(unsigned warp) { warp_order_.fence(warp); }
  /// Call when all remaining threads have reached a barrier of the block, or when a phase of an
  /// mbarrier or of the cluster's barrier has ended.
  void release_barrier();
  /// Call when a warp has reached a barrier with a thread count.
  void arrive(unsigned barrier, unsigned warp) { warp_order_.arrive(barrier, warp); }
  /// Call when the barrier with this number is complete (WarpOrder::release).
  void release_barrier(unsigned barrier, WarpMask waiters, WarpMask whole) {
    warp_order_.release(barrier, waiters, whole);
  }
  /// Records a write by a bulk copy or by another block, whose order is not checked. Address and
  /// size are multiples of 16 or of an access width.
  void set_written(std::uint64_t address, std::size_t bytes);
  /// First address in the range that was never written.
  std::optional<std::uint64_t> first_unwritten(std::uint64_t address, std::size_t bytes);

 private:
  /// Value instead of a time: cp.async is still writing the cell.
  static constexpr BlockTime kCopying = ~BlockTime{0};
  /// A record contains the thread (up to 1024 per block), three flags, and the position in the
  /// program.
  using Record = std::uint32_t;
  static constexpr unsigned kThreadBits = 10;
  static constexpr Record kAtomic = 1u << kThreadBits;
  static constexpr Record kSeveral = 2u << kThreadBits;  ///< unordered atomics of several threads
  /// Copied by cp.async; the thread is the first one that has waited for the mbarrier's phase.
  static constexpr Record kAwaited = 4u << kThreadBits;
  static constexpr unsigned kPlaceShift = kThreadBits + 3;
  static constexpr Record kThreadMask = kAtomic - 1;

  static Record thread_of(const Accessor& who, unsigned lane) { return who.warp * kLanes + lane; }
  static Record record_of(const Accessor& who, unsigned lane) {
    return thread_of(who, lane) | who.place << kPlaceShift;
  }

  struct PartialRead {
    BlockTime time = 0;
    LaneMask lanes = 0;
    unsigned warp = 0;
  };

  /// Last access of one warp per cell: its time and record. Empty until the warp's first access.
  struct WarpPast {
    std::vector<BlockTime> time;
    std::vector<Record> record;
  };

  /// Consecutive cells that consecutive lanes access.
  struct Run {
    std::size_t first;
    std::size_t cells;
    unsigned lane;
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
  void set_cells(const Accessor& who, const MemoryAccess& access, const Runs& runs, BlockTime time,
                 std::vector<BlockTime>& times, std::vector<Record>& records) const;
  void set_atomic(const Accessor& who, const MemoryAccess& access);
  /// Whether the last write precedes the access; of equal stores, whether all do.
  bool is_ordered(const Accessor& who, unsigned lane, std::size_t cell) const;
  /// Whether the access by `record`'s thread at this time precedes the current access.
  bool precedes(BlockTime time, Record record, const Accessor& who, unsigned lane) const;
  /// Whether a store of the cell's value precedes the access.
  bool has_value(const Accessor& who, unsigned lane, std::size_t cell) const;
  BlockTime known(unsigned warp, unsigned about) const;
  std::optional<Record> find_unordered(const Accessor& who, const std::vector<WarpPast>& past,
                                       std::size_t cell, WarpMask of) const;
  bool races_with_reader(const Accessor& who, std::size_t cell) const;
  WarpPast& past_of(std::vector<WarpPast>& all, unsigned warp) const;
  void note_reads(const Accessor& who, const MemoryAccess& access, const Runs& runs);
  std::optional<Conflict> read(const Accessor& who, const MemoryAccess& access);
  std::optional<Conflict> read_flag(const Accessor& who, const MemoryAccess& access);
  void learn_from_flag(const Accessor& who, unsigned lane, const MemoryAccess& access);
  void note_atomic(const Accessor& who, unsigned lane, const MemoryAccess& access);
  void mark_flag(std::size_t first, std::size_t cells);
  bool is_flag(std::size_t cell) const { return !flags_.empty() && flags_[cell] > barrier_; }
  bool is_mbarrier(const MemoryAccess& access) const {
    return copies_.is_mbarrier(access.address[first_lane(access.lanes)]);
  }
  std::optional<Conflict> write(const Accessor& who, const MemoryAccess& access);
  std::optional<Conflict::Kind> read_cell(const Accessor& who, unsigned lane, std::size_t cell);
  std::optional<Conflict::Kind> check_write(const Accessor& who, const MemoryAccess& access,
                                            unsigned lane, std::size_t cell);
  /// Whether a store writes the values that the bytes have after another store.
  bool keeps(const MemoryAccess& access, unsigned lane, std::size_t cell) const;
  /// Call for a store that keeps the value of a store that does not precede it.
  void note_equal_store(const Accessor& who, unsigned lane, std::size_t cell);
  bool has_equal_stores(std::size_t cell) const {
    return !equal_.empty() && equal_[cell] > barrier_;
  }
  std::optional<Record> unordered_equal_store(const Accessor& who, unsigned lane,
                                              std::size_t cell) const;
  bool races_with_partial_read(const Accessor& who, unsigned lane, std::size_t cell) const;
  std::optional<Conflict> find_overlap(const Accessor& who, const MemoryAccess& access) const;
  Conflict conflict(const Accessor& who, Conflict::Kind kind, unsigned lane, std::size_t cell,
                    std::uint64_t address) const;
  void touch(std::size_t first, std::size_t end);

  const std::byte* contents_ = nullptr;
  BlockTime clock_ = 2;
  BlockTime barrier_ = 1;           ///< time up to which accesses precede all later ones
  unsigned shift_;                  ///< cell number = address >> shift_
  std::vector<BlockTime> written_;  ///< time of the last write; 0: never
  std::vector<Record> writer_;
  std::vector<std::uint32_t> readers_;  ///< mask of warps that have read the cell since the barrier
  std::vector<Record> reader_;          ///< first lane of the last warp that read the cell
  /// Last reads by only some lanes of a warp; empty until the first such read.
  std::vector<PartialRead> partial_reads_;
  std::size_t touched_begin_;
  std::size_t touched_end_ = 0;
  /// By cell: time of the last write if it stored the value of a store that does not precede it,
  /// else 0. Empty until the first such store.
  std::vector<BlockTime> equal_;
  /// Time of the last access as a flag, by cell; empty until the first one.
  std::vector<BlockTime> flags_;
  PendingCopies copies_;
  WarpOrder warp_order_;
  std::vector<WarpPast> atomics_;
  std::vector<WarpPast> equal_stores_;  ///< by warp; valid where equal_ is after the last barrier
  std::vector<WarpPast> reads_;  ///< by warp; empty if only barriers of the block order warps
};

}  // namespace gpuexp::sim
