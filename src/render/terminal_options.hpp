// What a terminal takes: its width, its characters and its escapes.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

namespace gpuexp {

enum class Style { plain, bold, dim, bar, wrong, left_out };

struct TerminalOptions {
  std::size_t width = 100;  ///< columns; 0 for no limit
  bool colour = false;
  bool unicode = true;  ///< false: ASCII only

  std::string text(const std::string& utf8) const;
  std::string styled(const std::string& text, Style style) const;
  /// Columns to the right of an indent; a very large number if there is no limit.
  std::size_t room(std::size_t indent) const;
};

/// What suits the stream: its width, colour on a terminal unless NO_COLOR is set, Unicode where the
/// locale's character set is UTF-8. A file or a pipe has no width limit and no colour.
TerminalOptions terminal_options(std::FILE* stream);

}  // namespace gpuexp
