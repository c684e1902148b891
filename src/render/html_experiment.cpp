#include "render/html_experiment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/chart.hpp"
#include "render/html.hpp"
#include "render/html_table.hpp"
#include "render/svg_chart.hpp"

namespace gpuexp {

namespace {

// The one family of the rows, where the program knows it.
const Family* family_of(const HtmlReport& page, const ExperimentResults& e) {
  return page.registry.find(e.constant(&ResultRecord::family));
}

std::string figures_of(const ExperimentResults& e, const Family* family) {
  const Figure* declared = family && !family->figures.empty() ? &family->figures.front() : nullptr;
  std::string html;
  for (const Chart& chart : charts_of(e, declared))
    html += svg_figure(chart);
  return html.empty() ? "" : "<div class=\"figures\">" + html + "</div>\n";
}

std::string facts_line(const ExperimentView& view) {
  if (view.facts.empty()) return "";
  return fmt::format("<p class=\"where\">{}</p>\n",
                     escape_html(fmt::format("{}", fmt::join(view.facts, " · "))));
}

std::string explanations_list(const ExperimentView& view) {
  if (view.explanations.empty()) return "";
  std::string html = "<h4>Why</h4>\n<ul class=\"why\">";
  for (const std::string& text : view.explanations)
    html += html_element("li", text) + "\n";
  return html + "</ul>\n";
}

}  // namespace

std::string html_experiment(const HtmlReport& page, const ExperimentResults& e,
                            const ExperimentView& view, std::size_t number) {
  const Family* family = family_of(page, e);
  std::string html = fmt::format("<article id=\"{}\"><h3>{}</h3>\n", experiment_id(number),
                                 escape_html(view.title));
  if (family) html += fmt::format("<p class=\"question\">{}</p>\n", escape_html(family->question));
  html += facts_line(view);
  if (!view.headline.empty())
    html += fmt::format("<p class=\"headline\">{}</p>\n", escape_html(view.headline));
  html += figures_of(e, family);
  if (!view.rows.empty()) html += html_table(view, view.title);
  return html + explanations_list(view) + "</article>\n";
}

std::string html_published_figure(const ExperimentView& view) {
  return fmt::format("<article><h3>{}</h3>\n{}{}{}</article>\n", escape_html(view.title),
                     facts_line(view), html_table(view, view.title), explanations_list(view));
}

std::string experiment_id(std::size_t number) {
  return fmt::format("e{}", number);
}

}  // namespace gpuexp
