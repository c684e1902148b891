#include "sass/machine_code.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "sass/listing_text.hpp"

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

struct ParsedInstruction {
  Instruction kind;
  std::string_view operands;
  bool is_never_executed = false;
};

// "@!UP1 BRA 0x790": what stands between the address and the semicolon.
ParsedInstruction parse_instruction(std::string_view text) {
  ParsedInstruction listed;
  if (text.starts_with('@')) {
    std::string_view guard = take_until(text, " ").substr(1);
    const bool negated = take_prefix(guard, "!");
    listed.is_never_executed = negated && (guard == "PT" || guard == "UPT");
    listed.kind.guard =
        guard.starts_with('U') ? Instruction::Guard::warp : Instruction::Guard::lane;
    text = trimmed(text);
  }
  listed.kind.opcode = take_until(text, " ");
  listed.operands = trimmed(text);
  return listed;
}

// The instruction of a line such as
//         /*0060*/               @P0 EXIT ;          /* 0x000000000000094d */
// Empty for every other line: headings, labels, and the second half of an encoding, which has no
// address.
std::optional<ParsedInstruction> parse_line(std::string_view line) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  std::string_view rest = trimmed(line);
  if (!take_prefix(rest, "/*")) return std::nullopt;
  const std::size_t digits = std::min(rest.find_first_not_of(kHexDigits), rest.size());
  rest.remove_prefix(digits);
  if (digits == 0 || !take_prefix(rest, "*/")) return std::nullopt;
  rest = trimmed(take_until(rest, ";"));
  if (rest.empty()) return std::nullopt;
  return parse_instruction(rest);
}

// HFMA2.MMA R7, -RZ, RZ, 2, 0: the product is zero, the sum is the constant.
bool makes_constant(const ParsedInstruction& listed) {
  std::string_view operands = listed.operands;
  take_until(operands, ",");
  const std::string_view first = trimmed(take_until(operands, ","));
  const std::string_view second = trimmed(take_until(operands, ","));
  return listed.kind.mnemonic() == "HFMA2" && first == "-RZ" && second == "RZ";
}

/// Collects the instructions of one kernel after the other.
class ListingReader {
 public:
  void start_kernel(std::string_view mangled_name, const std::string& architecture) {
    end_kernel();
    listings_.push_back({std::string(mangled_name), architecture, {}});
  }

  void add(ParsedInstruction listed) {
    if (listings_.empty() || listed.is_never_executed || listed.kind.mnemonic() == "NOP") return;
    listed.kind.makes_constant = makes_constant(listed);
    last_ = std::move(listed.kind);
    ++listings_.back().instructions[last_];
  }

  std::vector<KernelListing> listings() && {
    end_kernel();
    return std::move(listings_);
  }

 private:
  // The branch to itself is the last instruction, and a plain one.
  void end_kernel() {
    if (last_ == Instruction{Instruction::Guard::none, "BRA"}) {
      InstructionCounts& counts = listings_.back().instructions;
      if (--counts[last_] == 0) counts.erase(last_);
    }
    last_ = {};
  }

  std::vector<KernelListing> listings_;
  Instruction last_;
};

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
    const std::string_view number = take_until(line, " ");
    int count = 0;
    std::from_chars(number.data(), number.data() + number.size(), count);
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

std::vector<KernelListing> read_listings(std::string_view sass) {
  ListingReader reader;
  std::string architecture;
  while (!sass.empty()) {
    const std::string_view line = take_until(sass, "\n");
    std::string_view text = trimmed(line);
    if (take_prefix(text, "code for ")) {
      architecture = text;
    } else if (take_prefix(text, "Function : ")) {
      reader.start_kernel(text, architecture);
    } else if (auto listed = parse_line(line)) {
      reader.add(std::move(*listed));
    }
  }
  return std::move(reader).listings();
}

}  // namespace gpuexp
