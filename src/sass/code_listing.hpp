// Machine code (SASS) as NVIDIA's disassembler lists it, instruction by instruction, to be
// executed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuexp {

/// One instruction. Its texts lie in the listing that it was read from.
struct ListedInstruction {
  std::uint32_t address = 0;  ///< bytes from the kernel's first instruction
  std::string_view guard;     ///< "@!P1", "@UP0"; empty: none
  std::string_view opcode;    ///< with all modifiers: "LDG.E.128"
  std::string_view operands;  ///< "R4, desc[UR4][R2.64+0x10]"
  /// The second half of its encoding: stall cycles, the scoreboards that it sets and waits for.
  std::uint64_t schedule = 0;
  /// The immediate of its encoding, where it has one. Texts that read_code_text() reads have those
  /// that are NaN among the operands instead.
  std::uint32_t immediate = 0;
  /// Where its source stands; an empty file: not known.
  std::string_view file = {};
  std::uint32_t line = 0;
  /// Of inlined code: the kernel's own line that it was reached from; else empty.
  std::string_view from_file = {};
  std::uint32_t from_line = 0;
};

/// Constants that the compiler has written, 32 bits each, by their bank: 2 holds what it keeps for
/// one kernel, such as the targets of a switch, 3 what a module declares __constant__.
using ConstantBanks = std::map<unsigned, std::vector<std::uint32_t>>;
inline constexpr unsigned kKernelBank = 2;
inline constexpr unsigned kModuleBank = 3;

/// One kernel on one architecture, with the functions that it calls behind its own code.
struct KernelCode {
  std::string_view lowered_name;
  std::string_view architecture;  ///< "sm_90a"
  std::vector<ListedInstruction> instructions;
  ConstantBanks constants;  ///< that it reads
};

/// Reads what `cuobjdump -sass` prints of an object, in its order. The result refers to `listing`.
std::vector<KernelCode> read_code(std::string_view listing);

/// Constants of kernels by architecture and lowered name; those of the module have no name.
using ConstantsByKernel = std::map<std::pair<std::string, std::string>, std::vector<std::uint32_t>>;
/// Reads constant banks 2 and 3 of what `cuobjdump -elf` prints of an object.
ConstantsByKernel read_constants(std::string_view dump);

/// What instructions refer to by name, by architecture and lowered name of the kernel, and by the
/// instruction's address: that of a function which relocatable code calls is not known before the
/// code is loaded.
using RelocationsByKernel =
    std::map<std::pair<std::string, std::string>, std::map<std::uint32_t, std::string>>;
/// Reads the relocations of code in what `cuobjdump -elf` prints of an object.
RelocationsByKernel read_relocations(std::string_view dump);

/// What a binary keeps of its kernels: a line per constant, "c[0x2];00000410", and one per
/// instruction, "@P0 LDG.E R4, desc[UR4][R2.64];000ea4000c1e1900". The number is the second half of
/// the encoding, which says when the instruction is issued. An immediate that the disassembler
/// calls +QNAN or -QNAN, whatever its fraction, stands there by its bits, 0x7fefffff; two halves of
/// fp16 as one number. Where source lines are known, the text begins with a line per file,
/// "//kernels/matmul.cu", and "#0:44" stands before the instructions that come from line 44 of the
/// first of them, "#0:44<0:60" where that line was inlined at line 60.
std::string to_text(const KernelCode& code);
/// Reads that back. Throws std::runtime_error for other text. The result refers to `text`.
KernelCode read_code_text(std::string_view text);

}  // namespace gpuexp
