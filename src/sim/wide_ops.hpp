// Integers of 64 bits, which code of compute capability 12.0 has instructions for.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

/// To be asked for instructions with a modifier of 64 bits before all others: their mnemonics are
/// those of 32 bits, too.
std::span<const OpcodeDecoder> wide_opcodes();

/// "MOV.64", "ISETP.GE.S64.AND".
bool has_wide_modifier(std::span<const std::string_view> modifiers);

}  // namespace gpuexp::sim
