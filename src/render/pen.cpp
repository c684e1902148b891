#include "render/pen.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"

namespace gpuexp {

namespace {

std::string_view escape_of(Style style) {
  switch (style) {
    case Style::plain: return "";
    case Style::bold: return "\033[1m";
    case Style::dim: return "\033[2m";
    case Style::bar: return "\033[36m";
    case Style::wrong: return "\033[31m";
    case Style::left_out: return "\033[33m";
  }
  return "";
}

}  // namespace

std::string Pen::text(const std::string& utf8) const {
  return options_.unicode ? utf8 : to_ascii(utf8);
}

std::string Pen::styled(const std::string& text, Style style) const {
  if (!options_.colour || style == Style::plain || text.empty()) return text;
  return fmt::format("{}{}\033[0m", escape_of(style), text);
}

std::size_t Pen::room(std::size_t indent) const {
  constexpr std::size_t kNoLimit = 1'000'000;
  constexpr std::size_t kLeast = 20;
  if (options_.width == 0) return kNoLimit;
  return std::max(options_.width, indent + kLeast) - indent;
}

}  // namespace gpuexp
