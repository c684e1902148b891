#include "sim/warp_order.hpp"

#include <algorithm>

namespace gpuexp::sim {

void WarpOrder::arrive(unsigned barrier, unsigned warp) {
  Known& contributed = contributed_[barrier];
  for (unsigned about = 0; about < kWarps; ++about)
    contributed[about] = std::max(contributed[about], known_[warp][about]);
  contributed[warp] = clock_++;
}

void WarpOrder::release(unsigned barrier, WarpMask waiters, WarpMask whole) {
  Known& contributed = contributed_[barrier];
  for_each_lane(waiters, [&](unsigned warp) {
    for (unsigned about = 0; about < kWarps; ++about) {
      if (about == warp && !(whole >> warp & 1)) continue;
      known_[warp][about] = std::max(known_[warp][about], contributed[about]);
    }
  });
  contributed = {};
}

}  // namespace gpuexp::sim
