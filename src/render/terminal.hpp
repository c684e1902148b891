// Results for a terminal: one aligned table and one headline per experiment.
#pragma once

#include <string>

#include "render/terminal_options.hpp"
#include "render/view.hpp"

namespace gpuexp {

/// The whole page, ending in a newline. If a table is too wide, leaves out metrics, which the page
/// names.
std::string render_terminal(const Page& page, const TerminalOptions& options);

}  // namespace gpuexp
