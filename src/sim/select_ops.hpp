// Selections, comparisons of integers, moves.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

std::span<const OpcodeDecoder> select_opcodes();

}  // namespace gpuexp::sim
