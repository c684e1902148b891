#include "render/html_report.hpp"

#include <fmt/format.h>

#include "analysis/predicted_difference.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "render/explanation_text.hpp"
#include "render/figure_views.hpp"
#include "render/html.hpp"
#include "render/html_assets.hpp"
#include "render/html_experiment.hpp"
#include "render/html_provenance.hpp"
#include "render/html_summary.hpp"
#include "render/html_variants.hpp"
#include "render/page.hpp"

namespace gpuexp {

namespace {

std::string page_title(const Report& report) {
  const Provenance& p = report.provenance;
  const std::string config = p.config.name.value_or("results");
  return p.device.name ? fmt::format("{} on {}", config, *p.device.name) : config;
}

std::string source_hash(std::string_view text) {
  return fmt::format("'sha256-{}'", base64_of_hex(sha256(text)));
}

// Nothing is loaded, and no script runs but the one whose hash stands here.
std::string content_policy() {
  return fmt::format(
      "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
      source_hash(kHtmlStyle), source_hash(kHtmlScript));
}

std::string page_head(const std::string& title) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n"
      "<title>{}</title>\n<style>{}</style></head>\n",
      content_policy(), escape_html(title), kHtmlStyle);
}

// What explain says of simulated rows: why a variant is predicted to differ.
void add_predicted_differences(const ExperimentResults& experiment, ExperimentView& view) {
  for (const PredictedDifference& difference : predicted_differences_of(experiment, false))
    view.explanations.push_back(printable(gpuexp::text_of(experiment, difference)));
}

std::string published_figures(const Report& report) {
  if (report.figures.empty()) return "";
  const std::vector<ResultRecord>& rows = report.table.rows;
  std::string html = "<section id=\"published\"><h2>Published figures</h2>\n" +
                     html_element("p", figures_summary(report.figures, rows)) + "\n";
  for (const ExperimentView& view : figure_views(report.figures, rows))
    html += html_published_figure(view);
  return html + "</section>\n";
}

constexpr std::string_view kNavigation =
    "<nav aria-label=\"Sections\"><a href=\"#summary\">Summary</a> <a href=\"#experiments\">"
    "Experiments</a> <a href=\"#variants\">Variants</a> <a href=\"#provenance\">Provenance</a>"
    "</nav>\n";

}  // namespace

void write_html(const HtmlReport& page, const WritePart& write) {
  const Report& report = page.report;
  const std::vector<ExperimentResults> experiments = experiments_of(report.table);
  std::vector<ExperimentView> views =
      views_of(report.table, page.rates, {.units_in_headings = true, .predictions = true});
  const std::string title = page_title(report);
  write(page_head(title));
  write(
      fmt::format("<body id=\"top\"><header><p class=\"brand\">gpuexp report</p><h1>{}</h1>{}"
                  "</header>\n<main>\n",
                  escape_html(title), kNavigation));
  write(html_summary(page, experiments));
  write("<section id=\"experiments\"><h2>Experiments</h2>\n");
  for (std::size_t i = 0; i < experiments.size(); ++i) {
    if (report.provenance.device.is_simulated())
      add_predicted_differences(experiments[i], views.at(i));
    write(html_experiment(page, experiments[i], views.at(i), i + 1));
  }
  write("</section>\n");
  write(published_figures(report));
  write(html_variants(page, experiments));
  write(html_provenance(report));
  write(fmt::format("</main><script>{}</script></body></html>\n", kHtmlScript));
}

}  // namespace gpuexp
