// Loads, stores, atomics, copies.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

/// Op::kind2 of a load from shared memory that counts as atomic.
inline constexpr std::uint8_t kAtomicLoad = 1;

std::span<const OpcodeDecoder> memory_opcodes();

}  // namespace gpuexp::sim
