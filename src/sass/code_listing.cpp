#include "sass/code_listing.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>

#include "base/text_parts.hpp"

namespace gpuexp {

namespace {

constexpr std::string_view kConstantBank = "c[0x";
constexpr std::string_view kFile = "//";
constexpr std::string_view kLine = "#";
constexpr std::string_view kFrom = "<";

std::uint64_t number_of(std::string_view digits, int base) {
  std::string_view rest = digits;
  const auto number = take_number<std::uint64_t>(rest, base);
  if (!number || !rest.empty())
    throw std::runtime_error(
        fmt::format("'{}' is not a {} number", digits, base == 16 ? "hexadecimal" : "decimal"));
  return *number;
}

std::uint64_t decimal_of(std::string_view digits) {
  return number_of(digits, 10);
}

// Parses "0x00000410" or "00000410".
std::uint64_t number_of(std::string_view digits) {
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  return number_of(digits, 16);
}

// Parses the number in a comment at the start of `text`, such as /*0060*/ or /* 0x000fe400078e0002
// */.
std::optional<std::uint64_t> take_comment(std::string_view& text) {
  std::string_view rest = trimmed(text);
  if (!rest.starts_with("/*")) return std::nullopt;
  rest.remove_prefix(2);
  std::string_view digits = trimmed(take_until(rest, "*/"));
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  const auto number = take_number<std::uint64_t>(digits, 16);
  if (!number || !digits.empty()) return std::nullopt;
  text = rest;
  return number;
}

ListedInstruction split(std::string_view text, std::uint32_t address) {
  ListedInstruction instruction;
  instruction.address = address;
  if (text.starts_with('@')) {
    instruction.guard = take_until(text, " ");
    text = trimmed(text);
  }
  instruction.opcode = take_until(text, " ");
  instruction.operands = trimmed(text);
  return instruction;
}

std::optional<ListedInstruction> read_instruction(std::string_view line) {
  const auto address = take_comment(line);
  const std::string_view text = trimmed(take_until(line, ";"));
  if (!address || text.empty()) return std::nullopt;
  ListedInstruction instruction = split(text, static_cast<std::uint32_t>(*address));
  if (const auto first = take_comment(line))
    instruction.immediate = static_cast<std::uint32_t>(*first >> 32);
  return instruction;
}

bool is_nan(std::string_view operand) {
  return operand.ends_with("QNAN") || operand.ends_with("SNAN");
}

bool is_real(std::string_view operand) {
  if (is_nan(operand) || operand.ends_with("INF")) return true;
  if (operand.starts_with('-') || operand.starts_with('+')) operand.remove_prefix(1);
  return !operand.empty() && operand.front() >= '0' && operand.front() <= '9';
}

// Operands in which NaN is replaced by its bits.
std::string operands_text(const ListedInstruction& i) {
  if (i.immediate == 0 || i.operands.find("NAN") == std::string_view::npos)
    return std::string(i.operands);
  const bool is_pair = i.opcode.starts_with('H');
  std::vector<std::string> operands;
  for (std::string_view rest = i.operands; !rest.empty();) {
    const std::string_view operand = trimmed(take_until(rest, ","));
    std::string_view after = rest;
    if (is_pair && is_real(operand) && is_real(trimmed(take_until(after, ",")))) {
      operands.push_back(fmt::format("0x{:08x}", i.immediate));
      rest = after;
    } else {
      operands.push_back(is_nan(operand) ? fmt::format("0x{:08x}", i.immediate)
                                         : std::string(operand));
    }
  }
  return fmt::format("{}", fmt::join(operands, ", "));
}

// "#0:44" or "#0:44<0:60"
std::string place_text(const ListedInstruction& i, const std::vector<std::string_view>& files) {
  const auto number = [&](std::string_view file) {
    return std::find(files.begin(), files.end(), file) - files.begin();
  };
  std::string text = fmt::format("{}{}:{}", kLine, number(i.file), i.line);
  if (!i.from_file.empty())
    fmt::format_to(std::back_inserter(text), "{}{}:{}", kFrom, number(i.from_file), i.from_line);
  return text + "\n";
}

struct SourcePlace {
  std::string_view file;
  std::uint32_t line = 0;
};

SourcePlace read_place(std::string_view text, const std::vector<std::string_view>& files) {
  if (text.empty()) return {};
  const std::uint64_t file = decimal_of(take_until(text, ":"));
  return {file < files.size() ? files[file] : std::string_view{},
          static_cast<std::uint32_t>(decimal_of(text))};
}

}  // namespace

std::vector<KernelCode> read_code(std::string_view listing) {
  constexpr std::string_view kArchitecture = "code for ";
  constexpr std::string_view kFunction = "Function : ";
  std::vector<KernelCode> kernels;
  std::string_view architecture;
  while (!listing.empty()) {
    std::string_view line = trimmed(take_until(listing, "\n"));
    if (line.starts_with(kArchitecture)) {
      architecture = trimmed(line.substr(kArchitecture.size()));
    } else if (line.starts_with(kFunction)) {
      kernels.push_back({line.substr(kFunction.size()), architecture, {}, {}});
    } else if (!kernels.empty()) {
      auto& instructions = kernels.back().instructions;
      if (const auto instruction = read_instruction(line)) {
        instructions.push_back(*instruction);
      } else if (const auto second = take_comment(line); second && !instructions.empty()) {
        instructions.back().schedule = *second;
      }
    }
  }
  return kernels;
}

ConstantsByKernel read_constants(std::string_view dump) {
  constexpr std::string_view kArchitecture = "arch = ";
  constexpr std::string_view kOfKernel = ".nv.constant2.";
  constexpr std::string_view kOfModule = ".nv.constant3";
  ConstantsByKernel constants;
  std::string architecture;
  std::vector<std::uint32_t>* words = nullptr;  // words of the current section
  while (!dump.empty()) {
    std::string_view line = trimmed(take_until(dump, "\n"));
    if (line.starts_with(kArchitecture)) {
      architecture = line.substr(kArchitecture.size());
    } else if (line.starts_with(kOfKernel)) {
      words = &constants[{architecture, std::string(line.substr(kOfKernel.size()))}];
    } else if (line == kOfModule) {
      words = &constants[{architecture, ""}];
    } else if (words && line.starts_with("0x")) {
      while (!line.empty())
        words->push_back(static_cast<std::uint32_t>(number_of(trimmed(take_until(line, " ")))));
    } else {
      words = nullptr;
    }
  }
  return constants;
}

// "0x380    __cudaCDP2LaunchDeviceV2    R_CUDA_ABS55_16_34    0x0"
RelocationsByKernel read_relocations(std::string_view dump) {
  constexpr std::string_view kArchitecture = "arch = ";
  constexpr std::string_view kSection = ".section ";
  constexpr std::string_view kOfCode = ".text.";
  RelocationsByKernel relocations;
  std::string architecture;
  std::map<std::uint32_t, std::string>* names = nullptr;  // names of the current section
  while (!dump.empty()) {
    std::string_view line = trimmed(take_until(dump, "\n"));
    if (line.starts_with(kArchitecture)) {
      architecture = line.substr(kArchitecture.size());
    } else if (line.starts_with(kSection)) {
      names = nullptr;
      line = trimmed(line.substr(kSection.size()));
      // ".rela.text.<kernel>", or ".rel.text.<kernel>" for relocations without addends.
      const std::string_view kind = take_until(line, kOfCode);
      const std::string kernel(line.substr(0, line.find_first_of(kBlanks)));
      if (kind == ".rela" || kind == ".rel") names = &relocations[{architecture, kernel}];
    } else if (names && line.starts_with("0x")) {
      const auto address = static_cast<std::uint32_t>(number_of(take_until(line, " ")));
      line = trimmed(line);
      names->emplace(address, take_until(line, " "));
    }
  }
  return relocations;
}

std::string to_text(const KernelCode& code) {
  std::vector<std::string_view> files;
  for (const ListedInstruction& i : code.instructions) {
    for (const std::string_view file : {i.file, i.from_file}) {
      if (!file.empty() && std::find(files.begin(), files.end(), file) == files.end())
        files.push_back(file);
    }
  }
  std::string text;
  for (const std::string_view file : files)
    fmt::format_to(std::back_inserter(text), "{}{}\n", kFile, file);
  for (const auto& [bank, words] : code.constants) {
    for (const std::uint32_t word : words)
      fmt::format_to(std::back_inserter(text), "{}{:x}];{:08x}\n", kConstantBank, bank, word);
  }
  std::string last = fmt::format("{}{}:0\n", kLine, files.size());
  for (const ListedInstruction& i : code.instructions) {
    const std::string place = place_text(i, files);
    if (place != last) text += place;
    last = place;
    fmt::format_to(std::back_inserter(text), "{}{}{}{}{};{:016x}\n", i.guard,
                   i.guard.empty() ? "" : " ", i.opcode, i.operands.empty() ? "" : " ",
                   operands_text(i), i.schedule);
  }
  return text;
}

KernelCode read_code_text(std::string_view text) {
  constexpr std::uint32_t kInstructionBytes = 16;
  KernelCode code;
  std::vector<std::string_view> files;
  SourcePlace place;
  SourcePlace from;
  while (!text.empty()) {
    std::string_view number = take_until(text, "\n");
    if (number.starts_with(kFile)) {
      files.push_back(number.substr(kFile.size()));
      continue;
    }
    if (number.starts_with(kLine)) {
      number.remove_prefix(kLine.size());
      place = read_place(take_until(number, kFrom), files);
      from = read_place(number, files);
      continue;
    }
    const std::string_view what = take_until(number, ";");
    if (what.empty()) throw std::runtime_error(fmt::format("'{}' is not an instruction", number));
    const std::uint64_t value = number_of(number);
    if (what.starts_with(kConstantBank) && what.ends_with("]")) {
      const std::string_view bank = what.substr(kConstantBank.size());
      code.constants[static_cast<unsigned>(number_of(bank.substr(0, bank.size() - 1)))].push_back(
          static_cast<std::uint32_t>(value));
      continue;
    }
    code.instructions.push_back(
        split(what, static_cast<std::uint32_t>(code.instructions.size()) * kInstructionBytes));
    ListedInstruction& last = code.instructions.back();
    last.schedule = value;
    last.file = place.file;
    last.line = place.line;
    last.from_file = from.file;
    last.from_line = from.line;
  }
  return code;
}

}  // namespace gpuexp
