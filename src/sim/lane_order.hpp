// What lanes of one warp know of each other: which accesses of one lane come before what another
// one does next.
//
// A warp issues its instructions in order, so lanes that run together see what the others of their
// group did before. Lanes that parted at a branch do not, until they meet again where they wait for
// each other (BSYNC, WARPSYNC). Whether __syncwarp() stood in the source where lanes never parted,
// or where the compiler lets them meet in any case, cannot be seen in the machine code.
#pragma once

#include <array>
#include <cstdint>

#include "sim/lanes.hpp"

namespace gpuexp::sim {

/// Counts from one event that orders accesses of a block to the next. Accesses between two events
/// have one time.
using BlockTime = std::uint32_t;

class LaneOrder {
 public:
  /// `clock` is that of the block.
  explicit LaneOrder(BlockTime& clock) : clock_(clock) {}

  /// The lanes have run together until now.
  void part(LaneMask group);
  /// The lanes have waited for each other, and each knows what any of them did.
  void meet(LaneMask group);

  /// Whether lane `first`'s access at `time` is before what `second` does next, where they do not
  /// run together.
  bool is_before(unsigned first, BlockTime time, unsigned second) const {
    return known_[second][first] >= time;
  }

 private:
  BlockTime& clock_;
  std::array<Lanes32, kLanes> known_{};  ///< [of a lane][about a lane]: until when
};

}  // namespace gpuexp::sim
