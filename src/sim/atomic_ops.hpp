// Atomics in global and shared memory.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

std::span<const OpcodeDecoder> atomic_opcodes();

}  // namespace gpuexp::sim
