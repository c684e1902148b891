// Results as Markdown: the tables of the terminal, for READMEs, issues and merge requests.
#pragma once

#include <string>

#include "render/view.hpp"

namespace gpuexp {

/// One heading and one table (GitHub Flavored Markdown) per experiment. Names are escaped, so that
/// none of them ends a cell or starts markup.
std::string render_markdown(const Page& page);

// Parts of it, for pages with more than tables.

/// Text in which nothing is markup.
std::string escape_markdown(const std::string& text);

/// The table of the view, and its footnotes as a list behind it.
std::string markdown_table(const ExperimentView& view);

/// A list; its items are escaped.
std::string markdown_list(const std::vector<std::string>& items);

}  // namespace gpuexp
