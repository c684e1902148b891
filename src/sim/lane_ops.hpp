// Lanes of a warp among themselves: what they exchange, vote and agree on.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

std::span<const OpcodeDecoder> lane_opcodes();

}  // namespace gpuexp::sim
