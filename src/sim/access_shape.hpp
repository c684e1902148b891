// Where the lanes' addresses lie, which whoever looks at an access asks first.
#pragma once

#include <cstdint>

#include "sim/lanes.hpp"

namespace gpuexp::sim {

struct AccessShape {
  /// What most accesses are, and what they come to without a look at each lane.
  enum class Pattern : std::uint8_t {
    one,         ///< all 32 lanes have one address
    contiguous,  ///< all 32 take part, lane i with the bytes behind those of lane i - 1
    other
  };
  Pattern pattern = Pattern::other;
  bool is_aligned = true;   ///< each address to the width, which is a power of two
  std::uint64_t first = 0;  ///< the lowest address
  std::uint64_t last = 0;   ///< the highest
};

/// Of the lanes that take part; there is one at least, or else it has no addresses.
AccessShape shape_of(const Lanes64& address, LaneMask lanes, unsigned width);

}  // namespace gpuexp::sim
