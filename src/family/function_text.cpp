#include "family/function_text.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

#include <fmt/format.h>

namespace gpuexp {

namespace {

std::vector<std::string_view> lines_of(std::string_view source) {
  std::vector<std::string_view> lines;
  while (!source.empty()) {
    const std::size_t end = source.find('\n');
    lines.push_back(source.substr(0, end));
    if (end == std::string_view::npos) break;
    source.remove_prefix(end + 1);
  }
  return lines;
}

bool is_part_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Whether the line contains the name as a whole word, followed by "(".
bool declares(std::string_view line, std::string_view name) {
  for (std::size_t at = line.find(name); at != std::string_view::npos;
       at = line.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !is_part_of_name(line[at - 1])) && line.substr(end, 1) == "(") return true;
  }
  return false;
}

bool starts_declaration(std::string_view line) {
  return !line.empty() && is_part_of_name(line.front()) && !line.starts_with("namespace");
}

// Indices of the lines of a definition, which starts in the first column.
struct Definition {
  std::size_t first;
  std::size_t body;  ///< contains the opening brace
  std::size_t last;
};

// Reads the definition that starts in line `first`; `last` is 0 if no definition starts there.
Definition definition_from(const std::vector<std::string_view>& lines, std::size_t first) {
  Definition found{first, first, 0};
  while (found.body < lines.size() && lines[found.body].find('{') == std::string_view::npos) {
    if (lines[found.body].ends_with(';') || lines[found.body].empty()) return found;
    ++found.body;
  }
  if (found.body == lines.size()) return found;
  found.last = found.body;
  if (lines[found.body].ends_with('}') || lines[found.body].ends_with("};")) return found;
  while (found.last < lines.size() && !lines[found.last].starts_with('}'))
    ++found.last;
  if (found.last == lines.size()) found.last = 0;
  return found;
}

}  // namespace

std::string function_text(std::string_view source, std::string_view name) {
  const std::vector<std::string_view> lines = lines_of(source);
  for (std::size_t first = 0; first < lines.size(); ++first) {
    if (!starts_declaration(lines[first])) continue;
    const Definition found = definition_from(lines, first);
    bool is_it = false;
    for (std::size_t i = first; found.last > 0 && i <= found.body; ++i)
      is_it = is_it || declares(lines[i].substr(0, lines[i].find('{')), name);
    if (is_it) {
      std::string text;
      for (std::size_t i = first; i <= found.last; ++i)
        text += std::string(lines[i]) + '\n';
      return text;
    }
    first = std::max(first, found.last);
  }
  return "";
}

std::string values_text(const Family& family, const Values& values,
                        const std::vector<std::size_t>& unused) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Parameter& parameter = family.parameters[i];
    const bool is_used = std::ranges::find(unused, i) == unused.end();
    if (is_used && family.holds(parameter, values))
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", parameter.name, to_string(values[i]));
  }
  return text;
}

}  // namespace gpuexp
