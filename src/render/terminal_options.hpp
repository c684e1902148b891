// What a terminal takes.
#pragma once

#include <cstddef>
#include <cstdio>

namespace gpuexp {

struct TerminalOptions {
  std::size_t width = 100;  ///< columns; 0 for no limit
  bool colour = false;
  bool unicode = true;  ///< false: ASCII alone
};

/// What suits the stream: its width, colour on a terminal unless NO_COLOR is set, Unicode where the
/// locale's character set is UTF-8. A file or a pipe has no width limit and no colour.
TerminalOptions terminal_options(std::FILE* stream);

}  // namespace gpuexp
