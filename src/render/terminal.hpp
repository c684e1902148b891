// Results for people at a terminal: one aligned table per experiment, and what its numbers say.
#pragma once

#include <string>

#include "render/terminal_options.hpp"
#include "render/view.hpp"

namespace gpuexp {

/// The whole page, ending in a newline. Metrics that find no room in the width are left out and
/// named; nothing else is.
std::string render_terminal(const Page& page, const TerminalOptions& options);

}  // namespace gpuexp
