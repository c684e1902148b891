// Integers as fields of bits and of bytes: counts, fields, dot products.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

std::span<const OpcodeDecoder> bit_opcodes();

}  // namespace gpuexp::sim
