#include "analysis/variant_source.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sass/code_listing.hpp"
#include "sass/instruction_class.hpp"

namespace gpuexp {

namespace {

constexpr std::string_view kSectionMark = "// ---- ";

std::vector<std::string_view> source_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool is_file_of(std::string_view file, const std::string& family) {
  return file == fmt::format("kernels/{}.cu", family) ||
         file.starts_with(fmt::format("kernels/{}/", family));
}

bool is_section_of(std::string_view line, const std::string& variant) {
  if (!line.starts_with(kSectionMark)) return false;
  line.remove_prefix(kSectionMark.size());
  return line.substr(0, line.find(':')) == variant;
}

// Lines after the comment at `heading` and before the next section, trimmed of empty lines.
std::vector<CodeLine> section_from(const std::vector<std::string_view>& lines,
                                   std::size_t heading) {
  std::size_t first = heading + 1;
  while (first < lines.size() && lines[first].starts_with("//") &&
         !lines[first].starts_with(kSectionMark))
    ++first;
  std::size_t end = first;
  while (end < lines.size() && !lines[end].starts_with(kSectionMark))
    ++end;
  while (first < end && lines[first].empty())
    ++first;
  while (first < end && lines[end - 1].empty())
    --end;
  std::vector<CodeLine> section;
  for (std::size_t i = first; i < end; ++i)
    section.push_back({static_cast<std::uint32_t>(i + 1), lines[i], 0, {}});
  return section;
}

bool does_something(const ListedInstruction& listed) {
  return !listed.opcode.starts_with("NOP") && listed.guard != "@!PT" && listed.guard != "@!UPT";
}

// The instructions without no-ops, and without the branch to itself at the end of a kernel.
std::vector<ListedInstruction> executed_code(std::string_view text) {
  std::vector<ListedInstruction> code = read_code_text(text).instructions;
  std::erase_if(code, [](const ListedInstruction& listed) { return !does_something(listed); });
  if (!code.empty() && code.back().opcode == "BRA" && code.back().guard.empty()) code.pop_back();
  return code;
}

// The instruction's line if it is in the section, else the line into which it was inlined; empty if
// that is not in the section either.
std::optional<std::uint32_t> line_in_section(const SourcePart& section,
                                             const ListedInstruction& listed) {
  if (section.lines.empty()) return std::nullopt;
  const auto is_in = [&](std::string_view file, std::uint32_t line) {
    return file == section.file && line >= section.lines.front().number &&
           line <= section.lines.back().number;
  };
  if (is_in(listed.file, listed.line)) return listed.line;
  if (is_in(listed.from_file, listed.from_line)) return listed.from_line;
  return std::nullopt;
}

Instruction kind_of(const ListedInstruction& listed) {
  Instruction kind;
  if (!listed.guard.empty()) {
    const bool of_warp = listed.guard.starts_with("@U") || listed.guard.starts_with("@!U");
    kind.guard = of_warp ? Instruction::Guard::warp : Instruction::Guard::lane;
  }
  kind.opcode = listed.opcode;
  kind.makes_constant =
      listed.opcode.starts_with("HFMA2") && listed.operands.find("-RZ, RZ") != std::string::npos;
  return kind;
}

// Instruction counts by class, without classes that no mnemonic defines, such as "predicated".
std::string classes_text(const InstructionCounts& counts) {
  std::vector<std::string> parts;
  for (const ClassCount& c : count_classes(counts)) {
    if (!c.of->mnemonics.empty()) parts.push_back(fmt::format("{} {}", c.count, c.name));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

void add_code(CodeLine& line, const InstructionCounts& counts) {
  line.instructions = total(counts);
  line.classes = classes_text(counts);
}

}  // namespace

SourcePart whole_file(std::string name, std::string_view text) {
  SourcePart part{std::move(name), {}};
  for (const std::string_view line : source_lines(text))
    part.lines.push_back({static_cast<std::uint32_t>(part.lines.size() + 1), line, 0, {}});
  return part;
}

SourcePart VariantSources::section_of(const Family& family, const Variant& variant) const {
  for (std::size_t i = 0; i < count_; ++i) {
    if (!is_file_of(texts_[i].file, family.id)) continue;
    const std::vector<std::string_view> lines = source_lines(texts_[i].text);
    const auto heading = std::ranges::find_if(
        lines, [&](std::string_view line) { return is_section_of(line, variant.id); });
    if (heading != lines.end())
      return {texts_[i].file,
              section_from(lines, static_cast<std::size_t>(heading - lines.begin()))};
  }
  return {};
}

void VariantSources::count_code(VariantSource& source, const Variant& variant, const void* problem,
                                const DeviceSpec& device) const {
  std::map<std::uint32_t, InstructionCounts> in_section;
  std::map<std::string, std::map<std::uint32_t, InstructionCounts>> elsewhere;
  std::set<const void*> seen;
  for (const Shape& shape : variant.shapes(problem, device)) {
    if (!seen.insert(shape.kernel).second) continue;
    const auto found = resources_.find(shape.kernel, device.compute_capability());
    if (!found || found->resource.code.empty()) continue;
    const int architecture = found->resource.architecture;
    source.architecture = fmt::format("{}.{}", architecture / 10, architecture % 10);
    for (const ListedInstruction& listed : executed_code(found->resource.code.text())) {
      ++source.instructions;
      if (const auto line = line_in_section(source.section, listed)) {
        ++in_section[*line][kind_of(listed)];
      } else {
        ++elsewhere[std::string(listed.file)][listed.line][kind_of(listed)];
      }
    }
  }
  for (CodeLine& line : source.section.lines) {
    const auto found = in_section.find(line.number);
    if (found != in_section.end()) add_code(line, found->second);
  }
  for (const auto& [file, lines] : elsewhere) {
    SourcePart part{file, {}};
    for (const auto& [number, counts] : lines) {
      CodeLine& line = part.lines.emplace_back();
      line.number = number;
      line.text = files_.line(file, number).value_or(std::string_view());
      add_code(line, counts);
    }
    source.others.push_back(std::move(part));
  }
}

VariantSource VariantSources::of(const Family& family, const Variant& variant, const void* problem,
                                 const DeviceSpec* device) const {
  VariantSource source;
  source.section = section_of(family, variant);
  if (problem && device && !variant.is_vendor) count_code(source, variant, problem, *device);
  return source;
}

}  // namespace gpuexp
