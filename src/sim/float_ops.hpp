// fp16, fp32, fp64 and conversions.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

std::span<const OpcodeDecoder> float_opcodes();

}  // namespace gpuexp::sim
