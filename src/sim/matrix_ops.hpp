// Tensor cores.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

std::span<const OpcodeDecoder> matrix_opcodes();

}  // namespace gpuexp::sim
