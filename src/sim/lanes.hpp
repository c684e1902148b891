// Sets of lanes of a warp, and values per lane.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "sim/operand.hpp"
#include "sim/vectorized.hpp"

namespace gpuexp::sim {

using LaneMask = std::uint32_t;
inline constexpr LaneMask kAllLanes = ~LaneMask{0};

/// The lowest lane of a mask that is not empty.
GPUEXP_INLINED unsigned first_lane(LaneMask lanes) {
  return static_cast<unsigned>(std::countr_zero(lanes));
}

/// Calls function(lane) for each lane of the mask, in ascending order.
template <class Function>
void for_each_lane(LaneMask lanes, const Function& function) {
  for (; lanes != 0; lanes &= lanes - 1)
    function(first_lane(lanes));
}

template <class Holds>
GPUEXP_INLINED LaneMask lanes_where(const Holds& holds) {
  LaneMask lanes = 0;
  for (unsigned l = 0; l < kLanes; ++l)
    lanes |= LaneMask{holds(l)} << l;
  return lanes;
}

template <class T>
struct alignas(64) Lanes {
  std::array<T, kLanes> of;
  T& operator[](unsigned lane) { return of[lane]; }
  const T& operator[](unsigned lane) const { return of[lane]; }
};
using Lanes32 = Lanes<std::uint32_t>;
using Lanes64 = Lanes<std::uint64_t>;

}  // namespace gpuexp::sim
