// Bulk copies and reductions: ranges of memory that the copy engine moves.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

std::span<const OpcodeDecoder> bulk_opcodes();

}  // namespace gpuexp::sim
