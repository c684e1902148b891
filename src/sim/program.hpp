// Machine code of one kernel in the form that is executed: each instruction decoded once.
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

/// An operand as execution reads it.
struct Source : OperandForm {
  /// An immediate's bits, as wide as the instruction reads it; an offset of memory or a constant.
  std::uint64_t bits = 0;
};

struct Op {
  /// Executes the instruction for the lanes of `lanes`, which its guard has let through.
  using Run = void (*)(Warp& warp, const Op& op, LaneMask lanes);

  Run run = nullptr;
  Source guard;
  std::array<Source, 3> to;    ///< destinations
  std::array<Source, 5> from;  ///< sources
  std::uint8_t kind = 0;  ///< what the instruction's modifiers choose, as its decoder numbers it
  std::uint8_t kind2 = 0;
  std::uint8_t width = 4;  ///< bytes per lane that a memory access moves
  std::uint8_t bank = 0;   ///< of a constant that it loads
  bool is_idle = false;    ///< of an access: its values decide nothing, and are left (idle_ops.hpp)
  std::uint32_t value = 0;  ///< a look-up table, a target, a count
};

/// What counters ask of an instruction.
struct OpClass {
  IssuePipe pipe;
  bool is_branch;
  bool is_lsu_alone;    ///< of the load-store unit, without an access to memory
  bool commits_copies;  ///< LDGDEPBAR
};

/// What a decoder gets to read.
struct Decoding {
  const ListedInstruction& listed;
  std::vector<std::string_view> modifiers;
  std::vector<Operand> operands;

  bool has(std::string_view modifier) const;
  /// Throws std::runtime_error: the form is not executed.
  [[noreturn]] void refuse(std::string_view why) const;
  void refuse_form_if(bool is_other) const {
    if (is_other) refuse("this form is not executed");
  }
  void refuse_operands_if(bool are_others) const {
    if (are_others) refuse("its operands are not understood");
  }
  /// The place in the program of a branch's target.
  std::uint32_t target(const Operand& operand) const;
};

struct OpcodeDecoder {
  std::string_view mnemonic;
  void (*decode)(const Decoding& in, Op& op);
};

struct Program {
  /// Empty where nothing is known of it.
  std::span<const std::byte> constant_bank(unsigned bank) const {
    const auto found = constants.find(bank);
    if (found == constants.end()) return {};
    return std::as_bytes(std::span(found->second));
  }

  std::string name;
  std::vector<Op> ops;
  std::vector<ListedInstruction> listed;  ///< in the same order; refers to the listing
  ConstantBanks constants;                ///< beside bank 0, which a launch has
  std::vector<OpClass> classes;           ///< of the ops
  bool has_constant_operands = false;     ///< beside what LDC and ULDC load
  bool reaches_shared = false;            ///< some instruction reads or writes shared memory
  bool has_global_atomics = false;        ///< some instruction changes global memory atomically
  bool has_counted_barriers = false;      ///< some barrier is of a number of threads
};

/// "kernels/matmul.cu:120" of the instruction at `place`, behind `before`; empty: not known.
std::string source_line(const Program& program, std::uint32_t place, std::string_view before = "");

/// LDC and ULDC read their constants themselves.
bool loads_constants(std::string_view opcode);

/// The ops of a program whose operands are constants, with these as immediates: they are the same
/// throughout a launch. `bank` is bank 0 of the launch. Throws std::runtime_error where a constant
/// lies outside of its bank.
std::vector<Op> with_constants(const Program& program, std::span<const std::byte> bank);

/// How a 32-bit instruction, one on fp64 and one on pairs of fp16 read immediates.
enum class Reads : std::uint8_t { integer, fp32, fp64 };
Source source_of(const Operand& operand, Reads reads = Reads::integer);

/// The first operands are the destinations, all others are sources. Throws for more than there may
/// be.
void place(const Decoding& in, Op& op, Reads reads = Reads::integer, std::size_t destinations = 1);
/// Each operand has its own place; null: it has none. Where operands may be missing, down to
/// `least` of them, the first places stay empty. Throws for another number of them.
void place_each(const Decoding& in, std::initializer_list<Source*> places, std::size_t least);
inline void place_each(const Decoding& in, std::initializer_list<Source*> places) {
  place_each(in, places, places.size());
}

}  // namespace gpuexp::sim
