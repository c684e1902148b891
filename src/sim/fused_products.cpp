#include "sim/fused_products.hpp"

#include <bit>
#include <cmath>

#include "sim/vectorized.hpp"

namespace gpuexp::sim {

// Compiled as if the rounding mode never changed (src/CMakeLists.txt), because GCC 12 otherwise
// does not vectorize std::fma. No constants are folded here, so results still have the host's
// current rounding.
GPUEXP_VECTORIZED void fuse(const Lanes32& a, const Lanes32& b, const Lanes32& c, Lanes32& result) {
  GPUEXP_LANE_BY_LANE
  for (unsigned l = 0; l < kLanes; ++l)
    result[l] = std::bit_cast<std::uint32_t>(std::fma(
        std::bit_cast<float>(a[l]), std::bit_cast<float>(b[l]), std::bit_cast<float>(c[l])));
}

}  // namespace gpuexp::sim
