// Counts of machine code instructions (SASS) by kind. Each instruction of the code counts once,
// regardless of how often it is executed.
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
  /// The predicate that decides whether the instruction has an effect: one per lane (@P0, @!P3),
  /// one for the whole warp (@UP0), which cannot make lanes diverge, or none.
  enum class Guard { none, lane, warp };

  Guard guard = Guard::none;
  std::string opcode;  ///< with all modifiers: LDG.E.128.CONSTANT
  /// The opcode is arithmetic, but here only produces a constant: ptxas writes constants with idle
  /// multipliers, as in HFMA2.MMA R7, -RZ, RZ, 0, 0.
  bool makes_constant = false;

  /// The opcode without its modifiers: LDG.
  std::string_view mnemonic() const;
  /// The modifiers in order: E, 128, CONSTANT.
  std::vector<std::string_view> modifiers() const;

  friend auto operator<=>(const Instruction&, const Instruction&) = default;
};

/// Text such as "@P LDG.E.64" or "HFMA2.MMA (constant)".
std::string to_string(const Instruction& instruction);

using InstructionCounts = std::map<Instruction, int>;

/// One line per kind, such as "12 @P LDG.E.64"; read_counts() reads it back.
std::string to_text(const InstructionCounts& counts);
InstructionCounts read_counts(std::string_view text);

/// Counts the instructions of a kernel, except those that never have an effect: NOPs, instructions
/// guarded by @!PT (ptxas inserts @!PT LDS RZ, [RZ] where a hazard requires a gap), and the branch
/// to itself after the last instruction, which keeps the prefetcher within the code.
InstructionCounts count_instructions(const KernelCode& code);

}  // namespace gpuexp
