// Results as Markdown, with the tables of the terminal.
#pragma once

#include <string>

#include "render/view.hpp"

namespace gpuexp {

/// One heading and one table (GitHub Flavored Markdown) per experiment. Names are escaped.
std::string render_markdown(const Page& page);

// Parts of a page, for pages with other text.

/// The text with markup escaped.
std::string escape_markdown(const std::string& text);

/// The table of the view, followed by its footnotes as a list.
std::string markdown_table(const ExperimentView& view);

/// A list with escaped items.
std::string markdown_list(const std::vector<std::string>& items);

}  // namespace gpuexp
