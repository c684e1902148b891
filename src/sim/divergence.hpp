// Lanes of a warp that part and meet again.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "sim/operand.hpp"

namespace gpuexp::sim {

using LaneMask = std::uint32_t;
inline constexpr LaneMask kAllLanes = ~LaneMask{0};

/// Calls function(lane) for each of the lanes, the lowest first.
template <class Function>
void for_each_lane(LaneMask lanes, const Function& function) {
  for (; lanes != 0; lanes &= lanes - 1)
    function(static_cast<unsigned>(std::countr_zero(lanes)));
}

/// A value of each lane.
template <class T>
struct alignas(64) Lanes {
  std::array<T, kLanes> of;
  T& operator[](unsigned lane) { return of[lane]; }
  const T& operator[](unsigned lane) const { return of[lane]; }
};
using Lanes32 = Lanes<std::uint32_t>;
using Lanes64 = Lanes<std::uint64_t>;

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
  /// WARPSYNC: the running lanes wait for those of `with` that are left, themselves among them.
  void wait_for(LaneMask with);

  /// The running lanes wait for the block at one of its barriers; they go on with
  /// release_block_barrier().
  void wait_for_block(unsigned barrier);
  LaneMask lanes_at_block_barrier(unsigned barrier) const { return at_block_barrier_[barrier]; }
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
  bool has_exited() const { return exited_ == kAllLanes; }
  LaneMask exited() const { return exited_; }
  /// Lanes that were never there count as exited.
  void leave_out(LaneMask lanes) { exited_ |= lanes; }

  static constexpr unsigned kBlockBarriers = 16;

 private:
  static constexpr unsigned kBarriers = 16;
  static constexpr unsigned kWarpSync = kBarriers;  ///< WARPSYNC's own

  void run_another();
  void release(unsigned barrier);
  void release_all();

  LaneGroup running_;
  std::vector<LaneGroup> ready_;
  LaneMask exited_ = 0;
  /// Of each barrier and lane: who meets there, and where the lane goes on.
  std::array<std::array<LaneMask, kLanes>, kBarriers + 1> participants_{};
  std::array<LaneMask, kBarriers + 1> waiting_{};
  std::array<std::array<std::uint32_t, kLanes>, kBarriers + 1> resume_{};
  std::array<LaneMask, kBlockBarriers> at_block_barrier_{};
  std::array<std::vector<LaneGroup>, kBlockBarriers> block_waiters_;
};

}  // namespace gpuexp::sim
