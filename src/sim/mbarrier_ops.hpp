// Barriers that count arrivals and bytes, and stores that arrive there.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

std::span<const OpcodeDecoder> mbarrier_opcodes();

}  // namespace gpuexp::sim
