#include "render/html_summary.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/chart.hpp"
#include "analysis/report_summary.hpp"
#include "analysis/row_labels.hpp"
#include "analysis/sentence_fragments.hpp"
#include "base/text.hpp"
#include "record/flags.hpp"
#include "render/html.hpp"
#include "render/html_experiment.hpp"
#include "render/html_table.hpp"
#include "render/page.hpp"
#include "render/svg_chart.hpp"

namespace gpuexp {

namespace {

std::string card(const std::string& name, const std::string& value) {
  return value.empty() ? ""
                       : fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", name, escape_html(value));
}

std::string clock_text(const ReadConditions& read) {
  if (!read.lowest_sm_clock_mhz || !read.highest_sm_clock_mhz) return "";
  return fmt::format("{:.0f} to {:.0f} MHz", *read.lowest_sm_clock_mhz, *read.highest_sm_clock_mhz);
}

std::string power_text(const ReadConditions& read, const DeviceProvenance& device) {
  const auto& limit = device.power_limit_w;
  if (!read.highest_power_w) return limit ? fmt::format("limit {:g} W", *limit) : "";
  std::string text = fmt::format("up to {:.0f} W", *read.highest_power_w);
  return limit ? text + fmt::format(", limit {:g} W", *limit) : text;
}

// "2026-01-01T12:00:00Z" as "2026-01-01 12:00 UTC"; what is written otherwise, as it is.
std::string start_text(const std::string& utc) {
  constexpr std::size_t kDate = 10;
  constexpr std::size_t kMinutes = 5;
  if (utc.size() != 20 || utc[kDate] != 'T' || utc.back() != 'Z') return utc;
  return fmt::format("{} {} UTC", utc.substr(0, kDate), utc.substr(kDate + 1, kMinutes));
}

std::string commit_text(const Provenance& p) {
  constexpr std::size_t kShort = 12;
  if (!p.git_commit) return "";
  return p.git_commit->substr(0, kShort) +
         (p.git_dirty.value_or(false) ? " with local changes" : "");
}

std::string cards(const Report& report) {
  const Provenance& p = report.provenance;
  const ReadConditions read = conditions_of(report.table);
  const DeviceProvenance& d = p.device;
  const std::string gpu = d.name.value_or("");
  std::string html = "<dl class=\"cards\">";
  html += card("GPU", d.is_simulated() ? gpu + ", simulated: no times" : gpu);
  html += card("Driver", d.driver_version.value_or(""));
  html += card("CUDA runtime", d.runtime_version.value_or(""));
  html += card("SM clock while timed", clock_text(read));
  html += card("Power", power_text(read, d));
  html += card("Started", start_text(p.utc.value_or("")));
  html += card("gpuexp", p.gpuexp_version.value_or(""));
  html += card("Commit", commit_text(p));
  html += "</dl>\n";
  if (!p.argv.empty()) {
    html += fmt::format("<p class=\"command\"><span>Command</span> <code>{}</code></p>\n",
                        escape_html(fmt::format("{}", fmt::join(p.argv, " "))));
  }
  return html;
}

bool is_good(const std::string& status) {
  return status == name_of(Status::passed) || status == name_of(Status::sampled);
}
bool is_bad(const std::string& status) {
  return status == name_of(Status::incorrect) || status == name_of(Status::failed) ||
         status == name_of(Status::timeout);
}

// By words as well as by colours.
std::string verdicts(const Report& report) {
  const std::size_t rows = report.table.rows.size();
  std::string html =
      fmt::format("<ul class=\"verdicts\"><li>{} {}</li>", rows, rows == 1 ? "row" : "rows");
  for (const auto& [status, count] : status_counts(report.table)) {
    html += fmt::format("<li class=\"{}\">{} {}</li>",
                        is_good(status)  ? "good"
                        : is_bad(status) ? "bad"
                                         : "open",
                        count, escape_html(status));
  }
  if (!report.complete) html += "<li class=\"bad\">the run ended before its end</li>";
  return html + "</ul>\n";
}

std::string link_to(std::size_t number, const std::string& text) {
  return fmt::format("<a href=\"#{}\">{}</a>", experiment_id(number), escape_html(text));
}

std::vector<HtmlCell> overview_row(const ExperimentResults& e, std::size_t number) {
  const ResultRecord* best = largest_speedup(e);
  const auto errors = prediction_errors(e.rows);
  std::string best_text;
  if (best) {
    const std::string place = place_of(e, *best);
    best_text = fmt::format("{} over {}{}", best->variant, best->baseline,
                            place.empty() ? "" : " at " + place);
  }
  return {HtmlCell::of_html(link_to(number, e.name)),
          fmt::format("{}", fmt::join(e.values(&ResultRecord::family), ", ")),
          fmt::format("{}", e.rows.size()),
          fmt::format("{}", passed_rows(e)),
          best ? significant(*best->speedup, 3) : std::string(),
          best_text,
          errors ? fmt::format("{:.1f}", errors->median_pct) : std::string()};
}

std::string overview(const std::vector<ExperimentResults>& experiments) {
  HtmlTable table;
  table.caption = "Experiments";
  table.columns = {{"experiment", false}, {"family", false}, {"rows", true}, {"passed", true},
                   {"speed-up", true},    {"of", false},     {"off %", true}};
  for (std::size_t i = 0; i < experiments.size(); ++i)
    table.rows.push_back(overview_row(experiments[i], i + 1));
  return "<h3>Experiments</h3>\n<p class=\"where\">speed-up: the largest over the baseline, where "
         "it is 2 % or "
         "more; off %: how far predicted times are from measured ones, the median.</p>\n" +
         html_table(table);
}

std::string lost_rows(const std::vector<ExperimentResults>& experiments) {
  HtmlTable table;
  table.caption = "Rows that did not pass";
  table.columns = {{"experiment", false},
                   {"variant", false},
                   {"problem", false},
                   {"status", false},
                   {"reason", false}};
  for (std::size_t i = 0; i < experiments.size(); ++i) {
    const ExperimentResults& e = experiments[i];
    const Places places(e);
    for (const ResultRecord& row : e.rows) {
      if (row.passed()) continue;
      table.rows.push_back({HtmlCell::of_html(link_to(i + 1, e.name)), row.variant, places.of(row),
                            row.status ? status_text(row) : "no status", row.reason});
    }
  }
  if (table.rows.empty()) return "<p>Every row passed.</p>\n";
  return "<h3>Rows that did not pass</h3>\n" + html_table(table);
}

std::string flags(const RecordTable& rows) {
  HtmlTable table;
  table.caption = "Flags";
  table.columns = {{"flag", false}, {"rows", true}, {"what was seen", false}, {"remedy", false}};
  for (const auto& [id, count] : flag_counts(rows)) {
    const auto known = std::find_if(kFlags.begin(), kFlags.end(),
                                    [&id = id](const Flag& flag) { return flag.id == id; });
    const bool is_known = known != kFlags.end();
    table.rows.push_back({id, fmt::format("{}", count), std::string(is_known ? known->meaning : ""),
                          std::string(is_known ? known->remedy : "")});
  }
  if (table.rows.empty()) return "";
  return "<h3>Flags</h3>\n<p>What to know before trusting a number of these rows.</p>\n" +
         html_table(table);
}

std::string predictions(const Report& report) {
  const PredictionChart chart = prediction_chart(report.table);
  const auto errors = prediction_errors({report.table.rows.begin(), report.table.rows.end()});
  if (chart.points.empty() || !errors) return "";
  std::string text = fmt::format(
      "Of {} rows, {} were predicted within 10 % and {} within 25 %; half are off by {} % or less.",
      errors->rows, errors->within_10_pct, errors->within_25_pct,
      percent_fragment(errors->median_pct));
  if (report.provenance.ceilings)
    text += fmt::format(" Predictions rest on {}.", report.provenance.ceilings->source);
  return "<h3>Prediction against measurement</h3>\n" + html_element("p", text) + "\n" +
         svg_figure(chart);
}

}  // namespace

std::string html_summary(const HtmlReport& page,
                         const std::vector<ExperimentResults>& experiments) {
  const Report& report = page.report;
  return "<section id=\"summary\"><h2>Summary</h2>\n" + verdicts(report) + cards(report) +
         overview(experiments) + lost_rows(experiments) + flags(report.table) +
         predictions(report) + "</section>\n";
}

}  // namespace gpuexp
