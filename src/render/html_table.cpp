#include "render/html_table.hpp"

#include <fmt/format.h>

#include "render/html.hpp"

namespace gpuexp {

namespace {

std::string table_begin(const std::string& caption, const std::vector<ViewColumn>& columns) {
  std::string html = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table "
      "class=\"sort\">"
      "<caption>{0}</caption><thead><tr>",
      escape_html(caption));
  for (const ViewColumn& column : columns) {
    html += fmt::format("<th scope=\"col\"{}>{}</th>", column.is_number ? " class=\"n\"" : "",
                        escape_html(column.heading.empty() ? "flags" : column.heading));
  }
  return html + "</tr></thead><tbody>\n";
}

const char* const kTableEnd = "</tbody></table></div>\n";

// The end tags of cells and rows may be left out, and are most of a long table's bytes.
std::string cell_element(const ViewColumn& column, const std::string& html) {
  return fmt::format("<td{}>{}", column.is_number ? " class=n" : "", html);
}

std::string row_element(const ExperimentView& view, const ViewRow& row) {
  std::string html = row.status.empty() ? "<tr>" : "<tr class=lost>";
  const bool is_noted = !row.note.empty();
  const std::size_t shown = is_noted ? view.first_number : view.columns.size();
  for (std::size_t i = 0; i < shown && i < row.cells.size(); ++i)
    html += cell_element(view.columns[i], escape_html(row.cells[i]));
  if (is_noted) {
    html += fmt::format("<td colspan={}>{}", view.columns.size() - view.first_number,
                        escape_html(row.note));
  }
  return html + "\n";
}

}  // namespace

std::string html_table(const ExperimentView& view, const std::string& caption) {
  std::string html = table_begin(caption, view.columns);
  for (const ViewRow& row : view.rows)
    html += row_element(view, row);
  html += kTableEnd;
  if (view.footnotes.empty()) return html;
  html += "<ul class=\"notes\">";
  for (const std::string& note : view.footnotes)
    html += html_element("li", note);
  return html + "</ul>\n";
}

std::string html_table(const HtmlTable& table) {
  std::string html = table_begin(table.caption, table.columns);
  for (const std::vector<HtmlCell>& row : table.rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
      html += cell_element(table.columns.at(i),
                           row[i].is_html ? row[i].text : escape_html(row[i].text));
    html += "\n";
  }
  return html + kTableEnd;
}

std::string html_facts(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string html = "<div class=\"scroll whole\"><table class=\"facts\"><tbody>";
  for (const auto& [name, value] : facts) {
    html += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escape_html(name),
                        escape_html(value));
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace gpuexp
