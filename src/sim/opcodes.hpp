// The instructions that the simulator executes, by what they work on.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

std::span<const OpcodeDecoder> integer_opcodes();  ///< integers, logic, moves, predicates
std::span<const OpcodeDecoder> float_opcodes();    ///< fp16, fp32, fp64 and conversions
std::span<const OpcodeDecoder> memory_opcodes();   ///< loads, stores, atomics, copies
std::span<const OpcodeDecoder> control_opcodes();  ///< branches, barriers, lanes among themselves
std::span<const OpcodeDecoder> matrix_opcodes();   ///< tensor cores

}  // namespace gpuexp::sim
