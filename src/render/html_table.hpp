// Tables of a page of HTML, each in a container of its own that scrolls; the page's script sorts
// and filters them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "render/view.hpp"

namespace gpuexp {

/// The view's table, and its footnotes behind it. `caption` is what assistive technology calls it.
std::string html_table(const ExperimentView& view, const std::string& caption);

struct HtmlCell {
  HtmlCell(std::string content) : text(std::move(content)) {}
  /// Of elements that the caller has made.
  static HtmlCell of_html(std::string html) {
    HtmlCell cell(std::move(html));
    cell.is_html = true;
    return cell;
  }

  std::string text;
  bool is_html = false;
};
struct HtmlTable {
  std::string caption;
  std::vector<ViewColumn> columns;
  std::vector<std::vector<HtmlCell>> rows;
};
std::string html_table(const HtmlTable& table);

/// Names and values, without headings; not sorted.
std::string html_facts(const std::vector<std::pair<std::string, std::string>>& facts);

}  // namespace gpuexp
