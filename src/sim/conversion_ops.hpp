// Conversions between types of numbers.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

std::span<const OpcodeDecoder> conversion_opcodes();

}  // namespace gpuexp::sim
