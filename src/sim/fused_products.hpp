// Fused multiply-adds of fp32, which most instructions of a matrix product are.
#pragma once

#include "sim/lanes.hpp"

namespace gpuexp::sim {

/// a × b + c of each lane's bits, rounded as the host rounds now. The result may be one of the
/// operands.
void fuse(const Lanes32& a, const Lanes32& b, const Lanes32& c, Lanes32& result);

}  // namespace gpuexp::sim
