#include "report/health.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/text.hpp"
#include "report/text_table.hpp"

namespace gpuexp {

namespace {

constexpr int kDigits = 5;  // those of bands, which have five at most

std::vector<Finding> all_findings(const HealthReport& report) {
  std::vector<Finding> all = report.state;
  for (const FigureFinding& figure : report.figures)
    all.push_back(figure.finding);
  return all;
}

std::vector<std::string> topics(const std::vector<Finding>& findings, FindingVerdict verdict) {
  std::vector<std::string> found;
  for (const Finding& f : findings) {
    if (f.verdict == verdict) found.push_back(f.topic);
  }
  return found;
}

std::string state_table(const std::vector<Finding>& findings) {
  TextTable table;
  for (const char* title : {"state", "found", "expected", "verdict"})
    table.add_column(title, Align::left);
  for (const Finding& f : findings)
    table.add_row({f.topic, f.found, f.expected, std::string(name_of(f.verdict))});
  return table.render();
}

std::string number(const std::optional<double>& value) {
  return value ? significant(*value, kDigits) : "";
}

std::string band_text(const FigureFinding& figure) {
  if (!figure.band) return "no band recorded";
  if (!figure.band->high) return fmt::format("≥ {}", number(figure.band->low));
  if (!figure.band->low) return fmt::format("≤ {}", number(figure.band->high));
  return fmt::format("{} to {}", number(figure.band->low), number(figure.band->high));
}

std::string figures_table(const std::vector<FigureFinding>& figures) {
  TextTable table;
  table.add_column("figure", Align::left);
  table.add_column("measured", Align::right);
  for (const char* title : {"unit", "healthy"})
    table.add_column(title, Align::left);
  for (const char* title : {"datasheet", "% of it"})
    table.add_column(title, Align::right);
  table.add_column("verdict", Align::left);
  for (const FigureFinding& f : figures) {
    const auto value = f.measured ? std::optional(f.measured->value) : std::nullopt;
    const std::string share =
        value && f.datasheet ? fmt::format("{:.1f}", 100 * *value / *f.datasheet) : "";
    constexpr int kMeasuredDigits = 4;
    table.add_row({f.term->id, value ? significant(*value, kMeasuredDigits) : "none", f.term->unit,
                   band_text(f), number(f.datasheet), share,
                   std::string(name_of(f.finding.verdict))});
  }
  return table.render();
}

std::string explanation(const Finding& f, bool state_known) {
  std::string text = fmt::format("{}: {}", f.topic, f.found);
  if (!f.expected.empty()) text += fmt::format(", expected {}", f.expected);
  text += fmt::format(": {}.", f.cost);
  if (!f.likely.empty()) text += fmt::format(" Likely because {}.", f.likely);
  if (!f.cure.empty()) text += fmt::format(" {}.", f.cure);
  const bool is_figure = f.cure.empty();
  if (is_figure && f.likely.empty() && state_known)
    text += " Nothing else that was found explains it.";
  return text;
}

std::string off_text(const HealthReport& report, std::size_t width) {
  constexpr std::size_t kNoLimit = 1'000'000;
  constexpr std::size_t kIndent = 2;
  std::string text;
  for (const Finding& f : all_findings(report)) {
    if (f.verdict == FindingVerdict::off)
      text += paragraph(explanation(f, !report.state.empty()), width ? width : kNoLimit, kIndent);
  }
  return text.empty() ? "" : fmt::format("\noff:\n{}", text);
}

std::string count_text(std::size_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string unjudged_text(const HealthReport& report) {
  const auto no_band = std::count_if(report.figures.begin(), report.figures.end(),
                                     [](const FigureFinding& f) { return !f.band; });
  const std::string unknown =
      fmt::format("{}", fmt::join(topics(report.state, FindingVerdict::unknown), ", "));
  std::string text;
  if (!unknown.empty()) text += fmt::format("the driver does not say: {}\n", unknown);
  if (report.state.empty()) text += "of the GPU's state a file says nothing\n";
  if (no_band > 0) {
    text += fmt::format(
        "no band is recorded of {} for {}: docs/health.md says how to contribute one\n",
        count_text(static_cast<std::size_t>(no_band), "figure", "figures"), report.device);
  }
  return text;
}

std::string verdict_text(const HealthReport& report) {
  const std::vector<Finding> all = all_findings(report);
  const auto off = topics(all, FindingVerdict::off);
  if (!off.empty()) {
    return fmt::format("{}: {}\n", count_text(off.size(), "thing is off", "things are off"),
                       fmt::join(off, ", "));
  }
  if (verdict_of(report) == HealthVerdict::unjudged) return "nothing could be judged\n";
  const auto within = std::count_if(
      report.figures.begin(), report.figures.end(),
      [](const FigureFinding& f) { return f.finding.verdict == FindingVerdict::pass; });
  if (within == 0) return "nothing is off, but only the state could be judged\n";
  return fmt::format("healthy: {} within {}\n",
                     count_text(static_cast<std::size_t>(within), "figure", "figures"),
                     within == 1 ? "its band" : "their bands");
}

}  // namespace

HealthVerdict verdict_of(const HealthReport& report) {
  const std::vector<Finding> all = all_findings(report);
  if (!topics(all, FindingVerdict::off).empty()) return HealthVerdict::off;
  return topics(all, FindingVerdict::pass).empty() ? HealthVerdict::unjudged
                                                   : HealthVerdict::healthy;
}

std::string health_text(const HealthReport& report, std::size_t width) {
  std::string text = fmt::format("{}  ({}), {}\n", report.device, report.uuid, report.source);
  if (!report.state.empty()) text += fmt::format("\n{}", state_table(report.state));
  if (!report.figures.empty()) text += fmt::format("\n{}", figures_table(report.figures));
  return fmt::format("{}{}\n{}{}", text, off_text(report, width), unjudged_text(report),
                     verdict_text(report));
}

}  // namespace gpuexp
