// Copies and reductions of boxes of tensors, whose maps are arguments of the launch.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

std::span<const OpcodeDecoder> tensor_opcodes();

}  // namespace gpuexp::sim
