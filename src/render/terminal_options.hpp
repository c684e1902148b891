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
  /// Number of columns after an indent, at least 20; 1,000,000 if the width is unlimited.
  std::size_t room(std::size_t indent) const;
};

/// Options for the stream: the terminal's width, colour unless NO_COLOR is set, and Unicode if the
/// locale's character set is UTF-8. For files and pipes, unlimited width and no colour.
TerminalOptions terminal_options(std::FILE* stream);

}  // namespace gpuexp
