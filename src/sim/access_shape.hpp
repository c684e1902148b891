// Pattern and range of the addresses of an access.
#pragma once

#include <cstdint>

#include "sim/lanes.hpp"

namespace gpuexp::sim {

struct AccessShape {
  /// Frequent patterns, for which counts need no loop over lanes.
  enum class Pattern : std::uint8_t {
    one,         ///< all 32 lanes access the same address
    contiguous,  ///< all 32 lanes access memory; lane i's bytes follow lane i - 1's
    other
  };
  Pattern pattern = Pattern::other;
  bool is_aligned = true;  ///< all addresses are multiples of the width, a power of two
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

/// Shape of the addresses of `lanes`. If `lanes` is empty, `first` and `last` are meaningless.
AccessShape shape_of(const Lanes64& address, LaneMask lanes, unsigned width);

}  // namespace gpuexp::sim
