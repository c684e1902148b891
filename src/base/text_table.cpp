#include "base/text_table.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace gpuexp {

void TextTable::add_column(std::string title, Align align) {
  titles_.push_back(std::move(title));
  aligns_.push_back(align);
}

void TextTable::add_row(std::vector<std::string> cells) {
  cells.resize(titles_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::render() const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < titles_.size(); ++c) {
    std::size_t width = display_width(titles_[c]);
    for (const auto& row : rows_)
      width = std::max(width, display_width(row[c]));
    widths.push_back(width);
  }
  std::string text;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (c > 0) line += "  ";
      line += (aligns_[c] == Align::right ? pad_left : pad_right)(cells[c], widths[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  add_line(titles_);
  std::vector<std::string> rule;
  for (const std::size_t width : widths)
    rule.emplace_back(width, '-');
  add_line(rule);
  for (const auto& row : rows_)
    add_line(row);
  return text;
}

}  // namespace gpuexp
