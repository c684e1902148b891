// fp32 and fp64.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

std::span<const OpcodeDecoder> float_opcodes();

}  // namespace gpuexp::sim
