// Products of a warpgroup (wgmma): matrices of shared memory, by descriptors.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

std::span<const OpcodeDecoder> warpgroup_opcodes();

}  // namespace gpuexp::sim
