// Loads, stores, atomics, copies.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

std::span<const OpcodeDecoder> memory_opcodes();

}  // namespace gpuexp::sim
