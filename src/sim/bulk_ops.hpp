// Barriers in shared memory that count arrivals and bytes (mbarrier), and the bulk copies that
// arrive at them.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

std::span<const OpcodeDecoder> bulk_opcodes();

}  // namespace gpuexp::sim
