// Machine code (SASS) as NVIDIA's disassembler lists it, parsed into instructions for execution.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuexp {

/// One instruction. Its strings refer to the listing that it was read from.
struct ListedInstruction {
  std::uint32_t address = 0;  ///< bytes from the kernel's first instruction
  std::string_view guard;     ///< "@!P1", "@UP0"; empty: none
  std::string_view opcode;    ///< with all modifiers: "LDG.E.128"
  std::string_view operands;  ///< "R4, desc[UR4][R2.64+0x10]"
  /// Second half of the encoding: stall cycles, and scoreboards that it sets and waits for.
  std::uint64_t schedule = 0;
  /// Immediate of the encoding, if it has one. In texts for read_code_text(), immediates that are
  /// NaN are among the operands instead.
  std::uint32_t immediate = 0;
  /// Source line of the instruction. An empty file: unknown.
  std::string_view file = {};
  std::uint32_t line = 0;
  /// For inlined code, the line of the kernel itself at which it was inlined; else empty.
  std::string_view from_file = {};
  std::uint32_t from_line = 0;
};

/// Constants that the compiler has written, 32 bits each, by bank. Bank 2 holds the compiler's
/// constants for one kernel, such as the targets of a switch. Bank 3 holds a module's __constant__
/// variables.
using ConstantBanks = std::map<unsigned, std::vector<std::uint32_t>>;
inline constexpr unsigned kKernelBank = 2;
inline constexpr unsigned kModuleBank = 3;

/// One kernel on one architecture. The functions that it calls follow its own code.
struct KernelCode {
  std::string_view lowered_name;
  std::string_view architecture;  ///< "sm_90a"
  std::vector<ListedInstruction> instructions;
  ConstantBanks constants;  ///< that it reads
};

/// Reads the output of `cuobjdump -sass` for an object, in order. The result refers to `listing`.
std::vector<KernelCode> read_code(std::string_view listing);

/// Constants by architecture and lowered name of the kernel; the module's constants have no name.
using ConstantsByKernel = std::map<std::pair<std::string, std::string>, std::vector<std::uint32_t>>;
/// Reads constant banks 2 and 3 from the output of `cuobjdump -elf` for an object.
ConstantsByKernel read_constants(std::string_view dump);

/// Names that instructions refer to, by architecture and lowered name of the kernel, and by the
/// address of the instruction. Relocatable code calls functions by name, because their addresses
/// are unknown until the code is loaded.
using RelocationsByKernel =
    std::map<std::pair<std::string, std::string>, std::map<std::uint32_t, std::string>>;
/// Reads the relocations of code from the output of `cuobjdump -elf` for an object.
RelocationsByKernel read_relocations(std::string_view dump);

/// Text that a binary stores for a kernel: one line per constant, "c[0x2];00000410", and one per
/// instruction, "@P0 LDG.E R4, desc[UR4][R2.64];000ea4000c1e1900". The number is the second half of
/// the encoding, which determines when the instruction is issued. The disassembler lists every NaN
/// immediate as +QNAN or -QNAN; the text has its bits instead, such as 0x7fefffff, and two fp16
/// halves as one number. If source lines are known, the text starts with one line per file,
/// "//kernels/matmul.cu". "#0:44" precedes the instructions of line 44 of the first file,
/// "#0:44<0:60" if that line was inlined at line 60.
std::string to_text(const KernelCode& code);
/// Reads the output of to_text(). Throws std::runtime_error for other text. The result refers to
/// `text`.
KernelCode read_code_text(std::string_view text);

}  // namespace gpuexp
