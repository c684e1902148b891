// Fused multiply-adds of fp32, the most frequent instructions of matrix products.
#pragma once

#include "sim/lanes.hpp"

namespace gpuexp::sim {

/// a × b + c of each lane's bits in the host's rounding mode. The result may be one operand.
void fuse(const Lanes32& a, const Lanes32& b, const Lanes32& c, Lanes32& result);

}  // namespace gpuexp::sim
