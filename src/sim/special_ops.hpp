// Special registers: a thread's place in its block, grid and cluster, and others.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

std::span<const OpcodeDecoder> special_opcodes();

}  // namespace gpuexp::sim
