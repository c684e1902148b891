#include "render/markdown.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gpuexp {

namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

std::string table_line(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string table_of(const ExperimentView& view) {
  const bool adds_notes =
      !view.note_column &&
      std::ranges::any_of(view.rows, [](const ViewRow& row) { return !row.note.empty(); });
  std::vector<std::string> headings;
  std::vector<std::string> rules;
  for (const ViewColumn& column : view.columns) {
    headings.push_back(escape_markdown(column.heading));
    rules.emplace_back(column.is_number ? "---:" : ":---");
  }
  if (adds_notes) {
    headings.emplace_back("status");
    rules.emplace_back(":---");
  }
  std::string text = table_line(headings) + table_line(rules);
  for (const ViewRow& row : view.rows) {
    std::vector<std::string> cells;
    for (const std::string& cell : row.cells)
      cells.push_back(escape_markdown(cell));
    if (view.note_column && !row.note.empty())
      cells.at(*view.note_column) = escape_markdown(row.note);
    if (adds_notes) cells.push_back(escape_markdown(row.note.empty() ? "passed" : row.note));
    text += table_line(cells);
  }
  return text;
}

std::string experiment_text(const ExperimentView& view) {
  std::string text = fmt::format("## {}\n\n", escape_markdown(view.title));
  if (!view.facts.empty())
    text += escape_markdown(fmt::format("{}", fmt::join(view.facts, " · "))) + "\n\n";
  if (!view.rows.empty()) text += markdown_table(view) + "\n";
  if (!view.headline.empty()) text += escape_markdown(view.headline) + "\n\n";
  if (!view.explanations.empty()) text += markdown_list(view.explanations) + "\n";
  return text;
}

}  // namespace

// Underscores within words are not markup and stay unescaped, for legibility.
std::string escape_markdown(const std::string& text) {
  constexpr std::string_view kMarkup = R"(\`*[]<>|#~&)";
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool in_word =
        i > 0 && i + 1 < text.size() && is_word(text[i - 1]) && is_word(text[i + 1]);
    const bool is_markup =
        kMarkup.find(text[i]) != std::string_view::npos || (text[i] == '_' && !in_word);
    if (is_markup) result += '\\';
    result += text[i];
  }
  return result;
}

std::string markdown_list(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items)
    text += fmt::format("- {}\n", escape_markdown(item));
  return text;
}

std::string markdown_table(const ExperimentView& view) {
  const std::string table = table_of(view);
  return view.footnotes.empty() ? table : table + "\n" + markdown_list(view.footnotes);
}

std::string render_markdown(const Page& page) {
  std::string text;
  for (const std::string& paragraph : page.head)
    text += escape_markdown(paragraph) + "\n\n";
  for (const ExperimentView& view : page.experiments)
    text += experiment_text(view);
  return text + escape_markdown(page.summary) + "\n";
}

}  // namespace gpuexp
