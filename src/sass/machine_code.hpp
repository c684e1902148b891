// Static counts of machine code instructions (SASS) by kind.
#pragma once

#include <compare>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sass/code_listing.hpp"

namespace gpuexp {

struct Instruction {
  /// Scope of the predicate that guards the instruction: one value per lane (@P0, @!P3), one for
  /// the whole warp (@UP0), or no predicate.
  enum class Guard { none, lane, warp };

  Guard guard = Guard::none;
  std::string opcode;  ///< with all modifiers: LDG.E.128.CONSTANT
  /// Whether the instruction only sets a register to a constant: a multiply-add of zeros, such as
  /// HFMA2.MMA R7, -RZ, RZ, 0, 0.
  bool makes_constant = false;

  /// The opcode without its modifiers: LDG.
  std::string_view mnemonic() const;
  /// The modifiers in order: E, 128, CONSTANT.
  std::vector<std::string_view> modifiers() const;

  friend auto operator<=>(const Instruction&, const Instruction&) = default;
};

std::string to_string(const Instruction& instruction);

using InstructionCounts = std::map<Instruction, int>;

/// One line per kind, such as "12 @P LDG.E.64". read_counts() parses the text.
std::string to_text(const InstructionCounts& counts);
InstructionCounts read_counts(std::string_view text);

/// Counts a kernel's instructions, except those without effect: NOPs, instructions guarded by @!PT
/// or @!UPT (ptxas inserts @!PT LDS RZ, [RZ] where a hazard requires a gap), and the branch to
/// itself at the end, which keeps the prefetcher within the code.
InstructionCounts count_instructions(const KernelCode& code);

}  // namespace gpuexp
