#include "compile/precompiled_prefix.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/text_parts.hpp"
#include "compile/device_source.hpp"
#include "compile/toolkit_tools.hpp"

namespace gpuexp {

namespace {

bool is_large_library(const std::string& header) {
  constexpr std::array<std::string_view, 4> kLibraries{"cub/", "thrust/", "cuda/",
                                                       "cooperative_groups"};
  return std::ranges::any_of(kLibraries,
                             [&](std::string_view name) { return header.starts_with(name); });
}

/// The directives of the text, each from its name: "include <cub/cub.cuh>".
std::vector<std::string_view> directives_of(std::string_view text) {
  std::vector<std::string_view> directives;
  while (!text.empty()) {
    std::string_view line = trimmed(take_until(text, "\n"));
    if (line.starts_with('#')) directives.push_back(trimmed(line.substr(1)));
  }
  return directives;
}

bool has_include_guard(const std::vector<std::string_view>& directives) {
  return directives.size() > 1 && directives[0].starts_with("ifndef") &&
         directives[1].starts_with("define");
}

std::string_view beginning_without_conditions(std::string_view text) {
  const std::vector<std::string_view> directives = directives_of(text);
  for (std::size_t i = has_include_guard(directives) ? 2 : 0; i < directives.size(); ++i) {
    const bool is_harmless =
        directives[i].starts_with("include") || directives[i].starts_with("pragma");
    if (!is_harmless)
      return text.substr(0, static_cast<std::size_t>(directives[i].data() - text.data()));
  }
  return text;
}

}  // namespace

std::string precompiled_prefix(const std::vector<std::filesystem::path>& files) {
  std::string prefix;
  for (const std::filesystem::path& file : files) {
    const std::string text = text_of_file(file.string());
    for (const IncludeDirective& directive :
         include_directives(beginning_without_conditions(text))) {
      const std::string line = fmt::format("#include <{}>\n", directive.name);
      if (is_large_library(directive.name) && prefix.find(line) == std::string::npos)
        prefix += line;
    }
  }
  return prefix.empty() ? "" : prefix + "#pragma nv_hdrstop\n";
}

}  // namespace gpuexp
