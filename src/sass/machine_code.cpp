#include "sass/machine_code.hpp"

#include <fmt/format.h>

#include "base/text_parts.hpp"

namespace gpuexp {

namespace {

constexpr std::string_view kLaneGuard = "@P ";
constexpr std::string_view kWarpGuard = "@UP ";
constexpr std::string_view kMakesConstant = " (constant)";

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// In HFMA2.MMA R7, -RZ, RZ, 2, 0, the product is zero, so the result is a constant.
bool makes_constant(const Instruction& kind, std::string_view operands) {
  take_until(operands, ",");
  const std::string_view first = trimmed(take_until(operands, ","));
  const std::string_view second = trimmed(take_until(operands, ","));
  return kind.mnemonic() == "HFMA2" && first == "-RZ" && second == "RZ";
}

}  // namespace

std::string_view Instruction::mnemonic() const {
  return std::string_view(opcode).substr(0, opcode.find('.'));
}

std::vector<std::string_view> Instruction::modifiers() const {
  std::string_view rest = opcode;
  take_until(rest, ".");
  std::vector<std::string_view> modifiers;
  while (!rest.empty())
    modifiers.push_back(take_until(rest, "."));
  return modifiers;
}

std::string to_string(const Instruction& instruction) {
  std::string text;
  if (instruction.guard == Instruction::Guard::lane) text = kLaneGuard;
  if (instruction.guard == Instruction::Guard::warp) text = kWarpGuard;
  text += instruction.opcode;
  if (instruction.makes_constant) text += kMakesConstant;
  return text;
}

std::string to_text(const InstructionCounts& counts) {
  std::string text;
  for (const auto& [instruction, count] : counts)
    text += fmt::format("{} {}\n", count, to_string(instruction));
  return text;
}

InstructionCounts read_counts(std::string_view text) {
  InstructionCounts counts;
  while (!text.empty()) {
    std::string_view line = take_until(text, "\n");
    const int count = take_number<int>(line).value_or(0);
    take_until(line, " ");
    Instruction instruction;
    if (take_prefix(line, kLaneGuard)) instruction.guard = Instruction::Guard::lane;
    if (take_prefix(line, kWarpGuard)) instruction.guard = Instruction::Guard::warp;
    instruction.makes_constant = line.ends_with(kMakesConstant);
    if (instruction.makes_constant) line.remove_suffix(kMakesConstant.size());
    instruction.opcode = line;
    counts[instruction] += count;
  }
  return counts;
}

InstructionCounts count_instructions(const KernelCode& code) {
  InstructionCounts counts;
  Instruction last;
  for (const ListedInstruction& listed : code.instructions) {
    if (listed.guard == "@!PT" || listed.guard == "@!UPT" || listed.opcode == "NOP") continue;
    last = {};
    if (!listed.guard.empty()) {
      const bool is_of_warp = listed.guard.find_first_not_of("@!") == listed.guard.find('U');
      last.guard = is_of_warp ? Instruction::Guard::warp : Instruction::Guard::lane;
    }
    last.opcode = listed.opcode;
    last.makes_constant = makes_constant(last, listed.operands);
    ++counts[last];
  }
  if (last == Instruction{Instruction::Guard::none, "BRA"} && --counts[last] == 0)
    counts.erase(last);
  return counts;
}

}  // namespace gpuexp
