// Order of accesses between warps of a block that synchronize at barriers of only some warps. A
// warp that arrives contributes its accesses and the accesses that it knows to precede them; warps
// that wait learn of all contributed accesses. Warps that only arrive (BAR.ARV) learn nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/lane_order.hpp"

namespace gpuexp::sim {

using WarpMask = std::uint32_t;

class WarpOrder {
 public:
  WarpOrder(BlockTime& clock, std::size_t warps) : clock_(clock), known_(warps) {}

  void arrive(unsigned barrier, unsigned warp);
  /// Call when the barrier is complete and the `waiters` continue. All lanes of the warps in
  /// `whole` have arrived, so they see the earlier accesses of their own warp.
  void release(unsigned barrier, WarpMask waiters, WarpMask whole);

  /// Time up to which accesses of warp `about` precede the next access of `warp`.
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
