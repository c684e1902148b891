// Order between warps of a block that synchronize at barriers of only some warps: the time up to
// which accesses of one warp precede the next access of another.
//
// A warp that arrives at a barrier contributes its own accesses and those that it knows to precede
// them. The warps that wait there learn of all of them. Warps that only arrive (BAR.ARV) continue
// and learn nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/lane_order.hpp"

namespace gpuexp::sim {

/// Warps of a block, one bit each.
using WarpMask = std::uint32_t;

class WarpOrder {
 public:
  /// `clock` is the block's clock.
  WarpOrder(BlockTime& clock, std::size_t warps) : clock_(clock), known_(warps) {}

  void arrive(unsigned barrier, unsigned warp);
  /// The barrier is complete, and the `waiters` continue. All lanes of the `whole` warps have
  /// arrived and see the earlier accesses of their own warp.
  void release(unsigned barrier, WarpMask waiters, WarpMask whole);

  /// Time up to which accesses of `about` precede the next access of `warp`.
  BlockTime known(unsigned warp, unsigned about) const { return known_[warp][about]; }

 private:
  static constexpr unsigned kBarriers = 16;
  static constexpr unsigned kWarps = 32;
  using Known = std::array<BlockTime, kWarps>;

  BlockTime& clock_;
  std::vector<Known> known_;
  std::array<Known, kBarriers> contributed_{};
};

}  // namespace gpuexp::sim
