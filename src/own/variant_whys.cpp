#include "own/variant_whys.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/text_parts.hpp"
#include "compile/kernel_symbols.hpp"
#include "family/variant_comments.hpp"

namespace gpuexp::own {

namespace {

constexpr std::string_view kSlashes = "//";

std::vector<std::string_view> lines_of(std::string_view source) {
  std::vector<std::string_view> lines;
  while (!source.empty())
    lines.push_back(trimmed(take_until(source, "\n")));
  return lines;
}

/// Whether the line may be between a comment and the kernel's name: "template <int N>".
bool is_part_of_declaration(std::string_view line) {
  return !line.empty() && !line.starts_with(kSlashes) &&
         line.find_first_of(";{}*/") == std::string_view::npos;
}

/// Whether the line is a comment, and not a statement of the declaration.
bool is_comment(std::string_view line) {
  return line.starts_with(kSlashes) &&
         !trimmed(line.substr(kSlashes.size())).starts_with("gpuexp:");
}

/// The text of the comment lines directly above the declaration with this line, from 1.
std::string comment_above(const std::vector<std::string_view>& lines, std::size_t line) {
  std::size_t end = line - 1;
  while (end > 0 && is_part_of_declaration(lines[end - 1]))
    --end;
  std::size_t begin = end;
  while (begin > 0 && is_comment(lines[begin - 1]))
    --begin;
  std::string text;
  for (std::size_t i = begin; i < end; ++i) {
    const std::string_view words =
        trimmed(lines[i].substr(std::min(lines[i].find_first_not_of("/"), lines[i].size())));
    if (!text.empty() && !words.empty()) text += ' ';
    text += words;
  }
  return text;
}

}  // namespace

void set_whys(Declaration& declaration, std::string_view source) {
  std::map<std::string, std::string> sections;
  for (VariantComment& comment : variant_comments(source))
    sections.emplace(std::move(comment.variant), std::move(comment.why));
  const std::vector<std::string_view> lines = lines_of(source);
  const auto line_of = kernel_lines(source);
  for (DeclaredVariant& variant : declaration.variants) {
    const auto section = sections.find(variant.id);
    if (section != sections.end()) {
      variant.why = section->second;
      continue;
    }
    for (const DeclaredStep& step : variant.steps) {
      const auto* const launch = std::get_if<DeclaredLaunch>(&step);
      const auto line = launch ? line_of.find(launch->kernel) : line_of.end();
      if (line == line_of.end()) continue;
      const std::string comment = comment_above(lines, line->second);
      if (comment.empty() || variant.why.find(comment) != std::string::npos) continue;
      variant.why += (variant.why.empty() ? "" : " ") + comment;
    }
  }
}

}  // namespace gpuexp::own
