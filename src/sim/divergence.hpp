// Divergence and reconvergence of the lanes of a warp.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/lane_order.hpp"
#include "sim/lanes.hpp"

namespace gpuexp::sim {

struct LaneGroup {
  LaneMask lanes = 0;
  std::uint32_t next = 0;
};

/// Lanes that wait for other lanes of their warp.
struct WaitingLanes {
  LaneMask lanes = 0;
  std::uint32_t next = 0;  ///< the instruction after the wait
  LaneMask missing = 0;    ///< the awaited lanes that have neither arrived nor exited
  /// Whether the kernel's own mask names the awaited lanes, as in __shfl_sync.
  bool has_mask = false;
};

/// Decides which lanes of a warp execute next. Lanes diverge at a branch that only some of them
/// take, and reconverge where they wait for each other at a convergence barrier (BSSY, BSYNC).
/// While a group of lanes waits, another group executes.
class Divergence {
 public:
  explicit Divergence(LaneMask lanes) : running_{lanes, 0} {}

  void tell(LaneOrder& order) { order_ = &order; }

  LaneMask lanes() const { return running_.lanes; }
  std::uint32_t next() const { return running_.next; }
  void go_to(std::uint32_t next) { running_.next = next; }

  /// Running lanes in `taken` continue at `target`, other running lanes at the next instruction.
  void branch(LaneMask taken, std::uint32_t target);
  void branch_each(LaneMask lanes, const Lanes32& targets);
  void exit(LaneMask lanes);

  /// BSSY: the running lanes will reconverge at `barrier`.
  void set_barrier(unsigned barrier);
  /// BSYNC: `lanes` wait for the other participants of the barrier.
  void wait_at(unsigned barrier, LaneMask lanes);
  /// BREAK: `lanes` no longer participate in the barrier.
  void leave_barrier(unsigned barrier, LaneMask lanes);
  /// WARPSYNC: the running lanes wait for the lanes of `with` that have not exited. `with` includes
  /// the running lanes. If masks differ between lanes, lanes that wait for each other continue
  /// together.
  void wait_for(LaneMask with);
  void wait_for(const Lanes32& with);
  /// WARPSYNC.COLLECTIVE: lanes at different instructions wait for each other. They continue
  /// together after one of these instructions until end_collective(), and then each at its own
  /// `target`.
  void collect(const Lanes32& with, std::uint32_t target);
  void end_collective() { branch_each(running_.lanes, collective_targets_); }

  /// The running lanes wait at a barrier of the block until release_block_barrier().
  void wait_for_block(unsigned barrier);
  LaneMask lanes_at_block_barrier(unsigned barrier) const { return at_block_barrier_[barrier]; }
  /// Groups that wait at a barrier of the block; `next` is the instruction after the barrier.
  const std::vector<LaneGroup>& block_waiters(unsigned barrier) const {
    return block_waiters_[barrier];
  }
  std::vector<WaitingLanes> warp_waiters() const;
  void release_block_barrier(unsigned barrier);

  /// BMOV reads and sets a lane's mask of the participants of a convergence barrier.
  LaneMask participants(unsigned barrier, unsigned lane) const {
    return participants_[barrier][lane];
  }
  void set_participants(unsigned barrier, unsigned lane, LaneMask lanes) {
    participants_[barrier][lane] = lanes;
  }

  void yield();

  bool is_running() const { return running_.lanes != 0; }
  bool has_others() const { return !ready_.empty(); }
  bool has_exited() const { return exited_ == kAllLanes; }
  LaneMask exited() const { return exited_; }
  /// Counts lanes without a thread as exited.
  void leave_out(LaneMask lanes) { exited_ |= lanes; }

  static constexpr unsigned kBlockBarriers = 16;
  /// Index of the cluster's barrier, after the barriers of the block.
  static constexpr unsigned kClusterBarrier = kBlockBarriers;

 private:
  static constexpr unsigned kBarriers = 16;
  static constexpr unsigned kWarpSync = kBarriers;
  static constexpr unsigned kCollective = kBarriers + 1;
  static constexpr unsigned kAllBarriers = kBarriers + 2;

  void run_another();
  void add_ready(LaneMask lanes, const std::array<std::uint32_t, kLanes>& next);
  void release(unsigned barrier);
  void release_all();

  LaneGroup running_;
  LaneOrder* order_ = nullptr;
  std::vector<LaneGroup> ready_;
  LaneMask exited_ = 0;
  /// By barrier and lane: the participants, and the instruction at which the lane resumes.
  std::array<std::array<LaneMask, kLanes>, kAllBarriers> participants_{};
  std::array<LaneMask, kAllBarriers> waiting_{};
  std::array<std::array<std::uint32_t, kLanes>, kAllBarriers> resume_{};
  Lanes32 collective_targets_{};
  std::array<LaneMask, kBlockBarriers + 1> at_block_barrier_{};
  std::array<std::vector<LaneGroup>, kBlockBarriers + 1> block_waiters_;
};

}  // namespace gpuexp::sim
