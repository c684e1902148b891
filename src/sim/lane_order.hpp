// Order of memory accesses between the lanes of one warp. Lanes that execute together see each
// other's earlier accesses. After lanes diverge, they do not see each other's new accesses until
// they wait for each other (BSYNC, WARPSYNC). Machine code does not show a __syncwarp() where lanes
// never diverged or where the compiler reconverges them anyway.
#pragma once

#include <array>
#include <cstdint>

#include "sim/lanes.hpp"

namespace gpuexp::sim {

/// Time within a block: the number of earlier events that order accesses.
using BlockTime = std::uint32_t;

class LaneOrder {
 public:
  explicit LaneOrder(BlockTime& clock) : clock_(clock) {}

  /// Records that the lanes diverge. They have executed together until now.
  void part(LaneMask group);
  /// Records that the lanes have waited for each other: each sees the earlier accesses of all of
  /// them.
  void meet(LaneMask group);

  /// Whether lane `first`'s access at `time` precedes the next access of lane `second`, if the
  /// lanes do not execute together.
  bool is_before(unsigned first, BlockTime time, unsigned second) const {
    return known_[second][first] >= time;
  }

 private:
  BlockTime& clock_;
  /// [lane][other lane]: time up to which the lane sees the other lane's accesses.
  std::array<Lanes32, kLanes> known_{};
};

}  // namespace gpuexp::sim
