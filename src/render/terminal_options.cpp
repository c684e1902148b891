#include "render/terminal_options.hpp"

#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

namespace gpuexp {

namespace {

bool locale_is_utf8() {
  // The order in which setlocale asks them.
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
