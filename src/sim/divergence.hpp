// Lanes of a warp that part and meet again.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/lane_order.hpp"
#include "sim/lanes.hpp"

namespace gpuexp::sim {

/// Lanes that run together.
struct LaneGroup {
  LaneMask lanes = 0;
  std::uint32_t next = 0;  ///< place of their next instruction in the program
};

/// Which lanes run next. Lanes part at a branch that some take, and meet where they wait for each
/// other at a convergence barrier (BSSY, BSYNC), as from compute capability 7.0 on. Groups that
/// wait for others make way for them.
class Divergence {
 public:
  explicit Divergence(LaneMask lanes) : running_{lanes, 0} {}

  /// Who is to hear of lanes that part and meet.
  void tell(LaneOrder& order) { order_ = &order; }

  LaneMask lanes() const { return running_.lanes; }
  std::uint32_t next() const { return running_.next; }
  void go_to(std::uint32_t next) { running_.next = next; }

  /// Those of the running lanes go on at `target`, the others at the next instruction.
  void branch(LaneMask taken, std::uint32_t target);
  /// Each of the lanes goes on at its own target.
  void branch_each(LaneMask lanes, const Lanes32& targets);
  void exit(LaneMask lanes);

  /// BSSY: the running lanes will meet at `barrier`.
  void set_barrier(unsigned barrier);
  /// BSYNC: the lanes wait there for the others that will.
  void wait_at(unsigned barrier, LaneMask lanes);
  /// BREAK: the lanes will not come to it.
  void leave_barrier(unsigned barrier, LaneMask lanes);
  /// WARPSYNC: the running lanes wait for those of `with` that are left, themselves among them. Of
  /// a mask per lane, those that wait for each other go on together.
  void wait_for(LaneMask with);
  void wait_for(const Lanes32& with);
  /// WARPSYNC.COLLECTIVE: likewise, but from wherever in the program lanes come, they go on
  /// together behind one of these places until end_collective(), and then each at its `target`.
  void collect(const Lanes32& with, std::uint32_t target);
  void end_collective() { branch_each(running_.lanes, collective_targets_); }

  /// The running lanes wait for the block at one of its barriers; they go on with
  /// release_block_barrier().
  void wait_for_block(unsigned barrier);
  LaneMask lanes_at_block_barrier(unsigned barrier) const { return at_block_barrier_[barrier]; }
  /// The groups that wait there, behind their barriers.
  const std::vector<LaneGroup>& block_waiters(unsigned barrier) const {
    return block_waiters_[barrier];
  }
  /// The groups that wait for other lanes of the warp, likewise.
  std::vector<LaneGroup> warp_waiters() const;
  void release_block_barrier(unsigned barrier);

  /// BMOV: a lane's part of a convergence barrier, which code puts aside.
  LaneMask participants(unsigned barrier, unsigned lane) const {
    return participants_[barrier][lane];
  }
  void set_participants(unsigned barrier, unsigned lane, LaneMask lanes) {
    participants_[barrier][lane] = lanes;
  }

  /// Lets another group run, where there is one.
  void yield();

  bool is_running() const { return running_.lanes != 0; }
  /// Other lanes could run instead.
  bool has_others() const { return !ready_.empty(); }
  bool has_exited() const { return exited_ == kAllLanes; }
  LaneMask exited() const { return exited_; }
  /// Lanes that were never there count as exited.
  void leave_out(LaneMask lanes) { exited_ |= lanes; }

  static constexpr unsigned kBlockBarriers = 16;
  /// Where the running lanes wait for the cluster, in place of one of the block's barriers.
  static constexpr unsigned kClusterBarrier = kBlockBarriers;

 private:
  static constexpr unsigned kBarriers = 16;
  static constexpr unsigned kWarpSync = kBarriers;  ///< WARPSYNC's own
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
  /// Of each barrier and lane: who meets there, and where the lane goes on.
  std::array<std::array<LaneMask, kLanes>, kAllBarriers> participants_{};
  std::array<LaneMask, kAllBarriers> waiting_{};
  std::array<std::array<std::uint32_t, kLanes>, kAllBarriers> resume_{};
  Lanes32 collective_targets_{};
  std::array<LaneMask, kBlockBarriers + 1> at_block_barrier_{};
  std::array<std::vector<LaneGroup>, kBlockBarriers + 1> block_waiters_;
};

}  // namespace gpuexp::sim
