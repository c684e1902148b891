// Machine code (SASS) as NVIDIA's disassembler lists it, parsed into instructions for execution.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuexp {

/// One instruction. Its strings refer to the parsed listing.
struct ListedInstruction {
  std::uint32_t address = 0;  ///< byte offset from the kernel's first instruction
  std::string_view guard;     ///< "@!P1", "@UP0"; empty: none
  std::string_view opcode;    ///< with all modifiers: "LDG.E.128"
  std::string_view operands;  ///< "R4, desc[UR4][R2.64+0x10]"
  /// Second half of the encoding: stall cycles, and the scoreboards that it sets and waits for.
  std::uint64_t schedule = 0;
  /// Immediate in the encoding, if there is one; 0 from read_code_text(), whose operands contain
  /// the bits of NaN immediates.
  std::uint32_t immediate = 0;
  /// Source line of the instruction; `file` is empty if it is unknown.
  std::string_view file = {};
  std::uint32_t line = 0;
  /// Kernel line at which the code was inlined; `from_file` is empty if it was not.
  std::string_view from_file = {};
  std::uint32_t from_line = 0;
};

/// Constants that the compiler has written, as 32-bit words by bank. Bank 2 holds the compiler's
/// constants of one kernel, such as the targets of a switch. Bank 3 holds the __constant__
/// variables of a module.
using ConstantBanks = std::map<unsigned, std::vector<std::uint32_t>>;
inline constexpr unsigned kKernelBank = 2;
inline constexpr unsigned kModuleBank = 3;
/// Bank in which the loader of a module stores addresses of __device__ variables and functions.
inline constexpr unsigned kAddressBank = 4;

/// One kernel on one architecture, followed by the functions that it calls.
struct KernelCode {
  std::string_view lowered_name;
  std::string_view architecture;
  std::vector<ListedInstruction> instructions;
  ConstantBanks constants;
};

/// Parses the output of `cuobjdump -sass` for an object. The result refers to `listing`.
std::vector<KernelCode> read_code(std::string_view listing);

/// Constants by architecture and lowered kernel name; the name is empty for a module's constants.
using ConstantsByKernel = std::map<std::pair<std::string, std::string>, std::vector<std::uint32_t>>;
/// Parses constant banks 2 and 3 from the output of `cuobjdump -elf` for an object.
ConstantsByKernel read_constants(std::string_view dump);

/// Names that instructions refer to, by architecture and lowered kernel name, and by the
/// instruction's address. Relocatable code calls functions by name, because their addresses are
/// unknown until the code is loaded.
using RelocationsByKernel =
    std::map<std::pair<std::string, std::string>, std::map<std::uint32_t, std::string>>;
/// Parses the code relocations from the output of `cuobjdump -elf` for an object.
RelocationsByKernel read_relocations(std::string_view dump);

/// Text form of a kernel's code: one line per constant, "c[0x2];00000410", and one per instruction,
/// "@P0 LDG.E R4, desc[UR4][R2.64];000ea4000c1e1900", with the second half of the encoding. The
/// disassembler lists NaN immediates without their bits, as +QNAN or -QNAN; the text has the bits
/// instead, such as 0x7fefffff, and the two halves of a pair as one number. If source lines are
/// known, the text starts with one line per file, "//kernels/matmul.cu". "#0:44" precedes the
/// instructions of line 44 of the first file, and "#0:44<0:60" if that line was inlined at line 60.
std::string to_text(const KernelCode& code);
/// Parses the output of to_text(). Throws std::runtime_error for other text. The result refers to
/// `text`.
KernelCode read_code_text(std::string_view text);

}  // namespace gpuexp
