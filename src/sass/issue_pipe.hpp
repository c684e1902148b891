#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace gpuexp {

/// Pipes whose instructions Nsight Compute counts (sm__inst_executed_pipe_<name>.sum). `other`
/// includes the branch unit, the uniform datapath, constants and barriers. `unknown` means that no
/// recorded kernel shows the opcode's pipe.
enum class IssuePipe : std::uint8_t { other, fma, alu, fp64, xu, lsu, tensor, unknown };
inline constexpr std::size_t kIssuePipes = 8;

/// "IMAD" for "IMAD.WIDE.U32".
std::string_view mnemonic_of(std::string_view opcode);

constexpr bool is_any_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Pipe on compute capability 9.0, by the opcode with its modifiers ("IMAD.WIDE.U32") and its
/// operands. Opcodes of the recorded kernels have the pipe in which an H200 counts them
/// (tests/sim/recorded_counters_test.cpp).
IssuePipe issue_pipe(std::string_view opcode, std::string_view operands);

/// Whether smsp__inst_executed_op_branch.sum counts the instruction.
bool is_branch(std::string_view opcode);

/// Whether the load-store unit executes the instruction without a memory access: exchanges between
/// lanes, reads of values that differ between lanes, commits of cp.async groups.
bool is_load_store_without_access(std::string_view opcode);

}  // namespace gpuexp
