// Functions that device code calls in the CUDA runtime: printf() and a failed assert(). The loader
// stores their addresses (function_addresses.hpp) in constant bank 4.
#pragma once

#include <cstdint>

#include "sim/warp.hpp"

namespace gpuexp::sim {

/// Executes the call of the function at `address` by a lane of a warp. Its arguments are in
/// registers R4 and above, and its result in R4. Throws Fault: a failed assert(), or an address
/// that is not a function's. Warps that compute only branches and addresses print nothing, and
/// their asserts do not fail.
void call_runtime(Warp& warp, unsigned lane, std::uint64_t address);

}  // namespace gpuexp::sim
