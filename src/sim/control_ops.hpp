// Branches, barriers, waiting, special registers.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

std::span<const OpcodeDecoder> control_opcodes();

}  // namespace gpuexp::sim
