#include "render/terminal.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "render/terminal_options.hpp"

namespace gpuexp {

namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kColumnGap = 2;
constexpr std::size_t kWidestBar = 32;
constexpr std::size_t kNarrowestBar = 5;

Style style_of_status(const std::string& status) {
  const bool is_wrong = status != "skipped" && status != "not_run" && status != "unverified";
  return is_wrong ? Style::wrong : Style::left_out;
}

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

class TableLayout {
 public:
  TableLayout(const ExperimentView& view, const TerminalOptions& options)
      : view_(view), options_(options) {
    for (std::size_t c = 0; c < view.columns.size(); ++c) {
      std::size_t width = display_width(options.text(view.columns[c].heading));
      for (const ViewRow& row : view.rows)
        width = std::max(width, display_width(options.text(row.cells[c])));
      widths_.push_back(width);
    }
    share_width();
  }

  std::string render() const {
    std::string text;
    if (view_.rows.empty()) return text;
    const std::string header =
        line([&](std::size_t c) { return view_.columns[c].heading; }, std::string(bar_width_, ' '));
    text += options_.styled(header, Style::bold) + "\n";
    for (const ViewRow& row : view_.rows) {
      if (row.note.empty() || row.keeps_numbers)
        text += numbers(row) + "\n";
      else
        text += note(row);
    }
    return text;
  }

  std::vector<std::string> left_out() const {
    std::vector<std::string> headings;
    for (std::size_t c = shown_; c < view_.columns.size(); ++c)
      headings.push_back(view_.columns[c].heading);
    return headings;
  }

 private:
  // If the table is too wide, removes metrics from the right, then the bar.
  void share_width() {
    const std::size_t room = options_.room(0);
    const bool has_bar = view_.full_bar > 0;
    const std::size_t least_bar = has_bar ? kNarrowestBar + 1 : 0;
    shown_ = view_.columns.size();
    while (shown_ > view_.first_metric && columns_width() + least_bar > room)
      --shown_;
    const std::size_t taken = columns_width() + 1;
    if (has_bar && taken + kNarrowestBar <= room) bar_width_ = std::min(kWidestBar, room - taken);
  }

  std::size_t columns_width() const {
    std::size_t width = kIndent;
    for (std::size_t c = 0; c < shown_; ++c)
      width += widths_[c] + (c > 0 ? kColumnGap : 0);
    return width;
  }

  template <class Cell>
  std::string line(const Cell& cell, const std::string& bar) const {
    std::string text(kIndent, ' ');
    for (std::size_t c = 0; c < shown_; ++c) {
      if (c > 0) text += std::string(kColumnGap, ' ');
      text += padded(c, cell(c));
      if (c == view_.bar_after && bar_width_ > 0) text += " " + bar;
    }
    return without_trailing_spaces(std::move(text));
  }

  std::string padded(std::size_t column, const std::string& cell) const {
    const std::string text = options_.text(cell);
    return view_.columns[column].is_number ? pad_left(text, widths_[column])
                                           : pad_right(text, widths_[column]);
  }

  std::string bar_cell(const ViewRow& row) const {
    const std::string shown =
        without_trailing_spaces(options_.text(bar(row.bar, view_.full_bar, bar_width_)));
    const std::size_t rest = bar_width_ - display_width(shown);
    return options_.styled(shown, Style::bar) + std::string(rest, ' ');
  }

  std::string numbers(const ViewRow& row) const {
    const std::string cells = line([&](std::size_t c) { return row.cells[c]; }, bar_cell(row));
    if (row.note.empty()) return cells;
    return cells + std::string(kColumnGap, ' ') +
           options_.styled(options_.text(row.note), style_of_status(row.status));
  }

  // The row's labels, then the note instead of all numbers.
  std::string note(const ViewRow& row) const {
    std::string text(kIndent, ' ');
    for (std::size_t c = 0; c < view_.first_number; ++c)
      text += padded(c, row.cells[c]) + std::string(kColumnGap, ' ');
    const std::size_t indent = display_width(text);
    const auto lines = wrap(options_.text(row.note), options_.room(indent));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (i > 0) text += std::string(indent, ' ');
      text += options_.styled(lines[i], style_of_status(row.status)) + "\n";
    }
    return text;
  }

  const ExperimentView& view_;
  const TerminalOptions& options_;
  std::vector<std::size_t> widths_;
  std::size_t shown_ = 0;
  std::size_t bar_width_ = 0;
};

std::string paragraph(const TerminalOptions& options, const std::string& lead,
                      const std::string& body, Style style) {
  const std::string first = std::string(kIndent, ' ') + options.text(lead);
  const std::size_t indent = display_width(first);
  std::string text;
  for (const std::string& line : wrap(options.text(body), options.room(indent)))
    text += (text.empty() ? first : std::string(indent, ' ')) + options.styled(line, style) + "\n";
  return text;
}

std::string experiment_text(const ExperimentView& view, const TerminalOptions& options) {
  std::string text = options.styled(options.text(view.title), Style::bold) + "\n";
  text += paragraph(options, "", fmt::format("{}", fmt::join(view.facts, " · ")), Style::dim);
  const TableLayout layout(view, options);
  text += layout.render();
  for (const std::string& footnote : view.footnotes)
    text += paragraph(options, footnote.substr(0, 3), footnote.substr(3), Style::dim);
  const auto left_out = layout.left_out();
  if (!left_out.empty()) {
    text +=
        paragraph(options, "", fmt::format("Too wide to show here: {}.", fmt::join(left_out, ", ")),
                  Style::dim);
  }
  text += paragraph(options, "→ ", view.headline, Style::bold);
  for (const std::string& explanation : view.explanations)
    text += paragraph(options, "· ", explanation, Style::plain);
  return text + "\n";
}

}  // namespace

std::string render_terminal(const Page& page, const TerminalOptions& options) {
  std::string text;
  for (const std::string& paragraph : page.head) {
    for (const std::string& line : wrap(options.text(paragraph), options.room(0)))
      text += options.styled(line, Style::dim) + "\n";
  }
  if (!page.head.empty()) text += "\n";
  for (const ExperimentView& view : page.experiments)
    text += experiment_text(view, options);
  return text + options.text(page.summary) + "\n";
}

}  // namespace gpuexp
