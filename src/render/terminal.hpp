// Results for people at a terminal: one aligned table per experiment, and what its numbers say.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

#include "render/view.hpp"
#include "results/report.hpp"

namespace gpuexp {

struct TerminalOptions {
  std::size_t width = 100;  ///< columns; 0 for no limit
  bool colour = false;
  bool unicode = true;  ///< false: ASCII alone
};

/// What suits the stream: its width, colour on a terminal unless NO_COLOR is set, Unicode where the
/// locale's character set is UTF-8. A file or a pipe has no width limit and no colour.
TerminalOptions terminal_options(std::FILE* stream);

/// The whole page, ending in a newline. Metrics that find no room in the width are left out and
/// named; nothing else is.
std::string render_terminal(const Page& page, const TerminalOptions& options);
std::string render_terminal(const Report& report, const TerminalOptions& options);

}  // namespace gpuexp
