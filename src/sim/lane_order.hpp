// Order between the lanes of one warp: which accesses of one lane precede the next access of
// another lane.
//
// A warp issues its instructions in order, so lanes that run together see each other's earlier
// accesses. Lanes that diverged at a branch do not, until they reconverge at an instruction where
// they wait for each other (BSYNC, WARPSYNC). Machine code does not show whether the source has a
// __syncwarp() at a point where the lanes never diverged, or where the compiler reconverges them
// anyway.
#pragma once

#include <array>
#include <cstdint>

#include "sim/lanes.hpp"

namespace gpuexp::sim {

/// Time within a block, counted in events that order accesses. Accesses between two events have the
/// same time.
using BlockTime = std::uint32_t;

class LaneOrder {
 public:
  /// `clock` is the block's clock.
  explicit LaneOrder(BlockTime& clock) : clock_(clock) {}

  /// The lanes diverge; they have run together until now.
  void part(LaneMask group);
  /// The lanes have waited for each other: each sees the earlier accesses of all.
  void meet(LaneMask group);

  /// Whether lane `first`'s access at `time` precedes the next access of lane `second`, if they do
  /// not run together.
  bool is_before(unsigned first, BlockTime time, unsigned second) const {
    return known_[second][first] >= time;
  }

 private:
  BlockTime& clock_;
  std::array<Lanes32, kLanes> known_{};  ///< [lane][other lane]: time of the last access seen
};

}  // namespace gpuexp::sim
