// Integers, logic, moves, predicates.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

std::span<const OpcodeDecoder> integer_opcodes();

}  // namespace gpuexp::sim
