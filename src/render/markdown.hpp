// Results as Markdown, with the same tables as in a terminal.
#pragma once

#include <string>

#include "render/view.hpp"

namespace gpuexp {

/// One heading and one table (GitHub Flavored Markdown) per experiment. Escapes markup in names.
std::string render_markdown(const Page& page);

// Parts of a page, for documents with other text.

std::string escape_markdown(const std::string& text);

std::string markdown_table(const ExperimentView& view);

std::string markdown_list(const std::vector<std::string>& items);

}  // namespace gpuexp
