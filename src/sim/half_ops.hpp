// Pairs of fp16 and of bf16.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

std::span<const OpcodeDecoder> half_opcodes();

}  // namespace gpuexp::sim
