// What warps of a block know of each other where some of them meet at a barrier: until when the
// accesses of one come before what another one does next.
//
// A warp that comes to a barrier brings what it did and what it knew. The warps that wait there get
// to know all of that; those that only arrive (BAR.ARV) go on, and get to know nothing.
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
  /// `clock` is that of the block.
  WarpOrder(BlockTime& clock, std::size_t warps) : clock_(clock), known_(warps) {}

  void arrive(unsigned barrier, unsigned warp);
  /// The barrier is complete, and `waiters` go on. Lanes of `whole` warps have all come, and know
  /// what the others of their warp did.
  void release(unsigned barrier, WarpMask waiters, WarpMask whole);

  /// Accesses of `about` until this time are before what `warp` does next.
  BlockTime known(unsigned warp, unsigned about) const { return known_[warp][about]; }

 private:
  static constexpr unsigned kBarriers = 16;
  static constexpr unsigned kWarps = 32;
  using Known = std::array<BlockTime, kWarps>;

  BlockTime& clock_;
  std::vector<Known> known_;
  std::array<Known, kBarriers> brought_{};
};

}  // namespace gpuexp::sim
