// Which pipe of an SM executes an instruction.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace gpuexp {

/// Those that Nsight Compute counts the instructions of (sm__inst_executed_pipe_<name>.sum). The
/// branch unit, the uniform datapath, constants, barriers and the rest are `other`. Of opcodes that
/// are `unknown`, no recorded kernel has told: fma, alu, xu, lsu or none of these.
enum class IssuePipe : std::uint8_t { other, fma, alu, fp64, xu, lsu, tensor, unknown };
inline constexpr std::size_t kIssuePipes = 8;

/// "IMAD" of "IMAD.WIDE.U32".
std::string_view mnemonic_of(std::string_view opcode);

constexpr bool is_any_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Of compute capability 9.0, by the opcode with its modifiers ("IMAD.WIDE.U32") and its operands.
/// Opcodes that the recorded kernels have are where an H200 counts them
/// (tests/sim/recorded_counters_test.cpp).
IssuePipe issue_pipe(std::string_view opcode, std::string_view operands);

/// What smsp__inst_executed_op_branch.sum counts.
bool is_branch(std::string_view opcode);

/// Instructions of the load-store unit that touch no memory: exchanges between lanes, reads of what
/// differs between lanes, ends of a group of cp.async.
bool is_load_store_without_access(std::string_view opcode);

}  // namespace gpuexp
