// Machine code of one kernel, decoded once for execution.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sass/code_listing.hpp"
#include "sass/issue_pipe.hpp"
#include "sim/vectorized.hpp"
#include "sim/warp.hpp"

namespace gpuexp::sim {

/// An operand in the form that the simulator executes.
struct Source : OperandForm {
  /// Bits of an immediate, in the width that the instruction reads, or the offset of an address.
  std::uint64_t bits = 0;
};

struct Op {
  /// Executes the instruction for `lanes`, the lanes whose guard holds.
  using Run = void (*)(Warp& warp, const Op& op, LaneMask lanes);

  Run run = nullptr;
  Source guard;
  std::array<Source, 3> to;    ///< destination operands
  std::array<Source, 5> from;  ///< source operands
  std::uint8_t kind = 0;       ///< variant of the instruction; its decoder numbers the variants
  std::uint8_t kind2 = 0;
  std::uint8_t width = 4;  ///< bytes per lane of a memory access
  std::uint8_t bank = 0;   ///< constant bank
  /// Whether a load or store moves no data, because its values are unused (idle_ops.hpp).
  bool is_idle = false;
  /// Whether other warps may synchronize by its accesses to shared memory (MemoryAccess::is_flag).
  bool is_flag = false;
  std::uint32_t value = 0;  ///< look-up table, branch target or count
};

struct OpClass {
  IssuePipe pipe;
  bool is_branch;
  bool is_lsu_without_access;  ///< executes in the load-store unit without a memory access
  bool commits_copies;         ///< whether it is LDGDEPBAR
};

struct Decoding {
  const ListedInstruction& listed;
  std::vector<std::string_view> modifiers;
  std::vector<Operand> operands;

  bool has(std::string_view modifier) const;
  /// Throws std::runtime_error: the simulator does not execute this form of the instruction.
  [[noreturn]] void refuse(std::string_view why) const;
  void refuse_form_if(bool is_other) const {
    if (is_other) refuse("this form is not executed");
  }
  void refuse_operands_if(bool are_others) const {
    if (are_others) refuse("its operands are not understood");
  }
  /// Index in the program of a branch's target. Throws std::runtime_error if there is none.
  std::uint32_t target(const Operand& operand) const;
};

struct OpcodeDecoder {
  std::string_view mnemonic;
  void (*decode)(const Decoding& in, Op& op);
};

struct Program {
  /// Bytes of a constant bank; empty if the bank is unknown.
  std::span<const std::byte> constant_bank(unsigned bank) const {
    const auto found = constants.find(bank);
    if (found == constants.end()) return {};
    return std::as_bytes(std::span(found->second));
  }

  std::string name;
  std::vector<Op> ops;
  std::vector<ListedInstruction> listed;  ///< in the order of `ops`; refers to the listing
  ConstantBanks constants;                ///< banks 2 and 3; bank 0 is part of a launch
  std::vector<OpClass> classes;
  bool has_constant_operands = false;  ///< whether other instructions than LDC and ULDC have any
  bool reaches_shared = false;
  bool has_global_atomics = false;
  /// Whether barriers with thread counts, flags or mbarriers may order only some warps of a block.
  bool orders_warps = false;
};

/// `before`, followed by the instruction's source line, such as "kernels/matmul.cu:120". Empty if
/// the line is unknown.
std::string source_line(const Program& program, std::uint32_t place, std::string_view before = "");

bool loads_constants(std::string_view opcode);

/// Maximum number of consecutive registers that an instruction writes from each destination.
unsigned max_registers_written(std::string_view opcode);

/// How an instruction reads its immediates: as 32-bit integers, fp32 or fp64.
enum class Reads : std::uint8_t { integer, fp32, fp64 };
Source source_of(const Operand& operand, Reads reads = Reads::integer);

/// Sets the destinations from the first `destinations` operands and the sources from the others.
/// Throws std::runtime_error if the number of operands is wrong.
void place(const Decoding& in, Op& op, Reads reads = Reads::integer, std::size_t destinations = 1);
/// Sets each element of `places` from one operand; null skips an operand. If operands are missing,
/// the first places stay empty. Throws std::runtime_error if the number of operands is below
/// `min_count` or too high.
void place_each(const Decoding& in, std::initializer_list<Source*> places, std::size_t min_count);
inline void place_each(const Decoding& in, std::initializer_list<Source*> places) {
  place_each(in, places, places.size());
}

}  // namespace gpuexp::sim
