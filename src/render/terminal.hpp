// Results for a terminal: one aligned table and one headline per experiment.
#pragma once

#include <string>

#include "render/terminal_options.hpp"
#include "render/view.hpp"

namespace gpuexp {

/// The whole page, ending in a newline. Only metrics that do not fit are left out; the page names
/// them.
std::string render_terminal(const Page& page, const TerminalOptions& options);

}  // namespace gpuexp
