// Results as Markdown: the tables of the terminal, for READMEs, issues and merge requests.
#pragma once

#include <string>

#include "report/view.hpp"

namespace gpuexp {

/// One heading and one table (GitHub Flavored Markdown) per experiment. Names are escaped, so that
/// none of them ends a cell or starts markup.
std::string render_markdown(const Page& page);
std::string render_markdown(const Report& report);

}  // namespace gpuexp
