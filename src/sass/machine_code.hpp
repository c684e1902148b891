// Machine code (SASS) as NVIDIA's disassembler lists it, counted by kind of instruction: each
// instruction once, however often it runs.
#pragma once

#include <compare>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sass/code_listing.hpp"

namespace gpuexp {

/// One kind of instruction.
struct Instruction {
  /// What decides whether the instruction does anything: a predicate of each lane (@P0, @!P3), one
  /// of the whole warp (@UP0), which cannot make lanes part, or nothing.
  enum class Guard { none, lane, warp };

  Guard guard = Guard::none;
  std::string opcode;  ///< with all modifiers: LDG.E.128.CONSTANT
  /// The opcode computes, but this use of it only makes a constant: ptxas writes constants with
  /// idle multipliers, as in HFMA2.MMA R7, -RZ, RZ, 0, 0.
  bool makes_constant = false;

  /// The opcode without its modifiers: LDG.
  std::string_view mnemonic() const;
  /// The modifiers in order: E, 128, CONSTANT.
  std::vector<std::string_view> modifiers() const;

  friend auto operator<=>(const Instruction&, const Instruction&) = default;
};

/// "@P LDG.E.64", "HFMA2.MMA (constant)".
std::string to_string(const Instruction& instruction);

using InstructionCounts = std::map<Instruction, int>;

/// One line per kind, "12 @P LDG.E.64"; read_counts reads it back.
std::string to_text(const InstructionCounts& counts);
InstructionCounts read_counts(std::string_view text);

/// What never does anything is not counted: NOPs, instructions guarded by @!PT (ptxas puts
/// @!PT LDS RZ, [RZ] where a hazard wants a gap), and the branch to itself behind the last
/// instruction, which keeps the prefetcher inside.
InstructionCounts count_instructions(const KernelCode& code);

}  // namespace gpuexp
