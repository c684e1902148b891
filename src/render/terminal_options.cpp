#include "render/terminal_options.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

bool locale_is_utf8() {
  // The order of setlocale.
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (!value || *value == '\0') continue;
    const std::string_view locale(value);
    for (const std::string_view charset : {"UTF-8", "utf8", "utf-8", "UTF8"}) {
      if (locale.find(charset) != std::string_view::npos) return true;
    }
    return false;
  }
  return false;
}

}  // namespace

std::string TerminalOptions::text(const std::string& utf8) const {
  return unicode ? utf8 : to_ascii(utf8);
}

std::string TerminalOptions::styled(const std::string& text, Style style) const {
  if (!colour || style == Style::plain || text.empty()) return text;
  return fmt::format("{}{}\033[0m", escape_of(style), text);
}

std::size_t TerminalOptions::room(std::size_t indent) const {
  constexpr std::size_t kNoLimit = 1'000'000;
  constexpr std::size_t kMinimum = 20;
  return width == 0 ? kNoLimit : std::max(width, indent + kMinimum) - indent;
}

TerminalOptions terminal_options(std::FILE* stream) {
  TerminalOptions options;
  options.unicode = locale_is_utf8();
  const int descriptor = ::fileno(stream);
  if (!::isatty(descriptor)) {
    options.width = 0;
    return options;
  }
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) options.width = size.ws_col;
  const char* no_color = std::getenv("NO_COLOR");
  options.colour = !no_color || *no_color == '\0';
  return options;
}

}  // namespace gpuexp
