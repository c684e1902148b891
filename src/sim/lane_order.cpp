#include "sim/lane_order.hpp"

#include <algorithm>

namespace gpuexp::sim {

namespace {

void set(Lanes32& known, LaneMask group, BlockTime time) {
  for (unsigned l = 0; l < kLanes; ++l)
    known[l] = group >> l & 1 ? time : known[l];
}

}  // namespace

void LaneOrder::part(LaneMask group) {
  for_each_lane(group, [&](unsigned lane) { set(known_[lane], group, clock_); });
  ++clock_;
}

void LaneOrder::meet(LaneMask group) {
  Lanes32 all{};
  for_each_lane(group, [&](unsigned lane) {
    for (unsigned l = 0; l < kLanes; ++l)
      all[l] = std::max(all[l], known_[lane][l]);
  });
  set(all, group, clock_);
  for_each_lane(group, [&](unsigned lane) { known_[lane] = all; });
  ++clock_;
}

}  // namespace gpuexp::sim
