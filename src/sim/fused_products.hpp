#pragma once

#include "sim/lanes.hpp"

namespace gpuexp::sim {

/// Computes a × b + c per lane in the host's rounding mode. `result` may be an operand.
void fuse(const Lanes32& a, const Lanes32& b, const Lanes32& c, Lanes32& result);

}  // namespace gpuexp::sim
