#include "render/health_text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "base/text_table.hpp"

namespace gpuexp {

namespace {

constexpr int kBandDigits = 5;
constexpr int kMeasuredDigits = 4;

/// Ceilings of the GPU and of its links; a link's topics name the other GPU.
std::vector<CeilingFinding> all_ceilings(const HealthReport& report) {
  std::vector<CeilingFinding> all = report.ceilings;
  for (const LinkHealth& link : report.links) {
    for (CeilingFinding ceiling : link.ceilings) {
      ceiling.finding.topic = fmt::format("{} to device {}", ceiling.finding.topic, link.peer);
      all.push_back(std::move(ceiling));
    }
  }
  return all;
}

std::vector<Finding> all_states(const HealthReport& report) {
  std::vector<Finding> all = report.state;
  for (const LinkHealth& link : report.links) {
    for (Finding finding : link.state) {
      finding.topic = fmt::format("{} to device {}", finding.topic, link.peer);
      all.push_back(std::move(finding));
    }
  }
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
  for (const char* title : {"state", "verdict", "found", "expected"})
    table.add_column(title, Align::left);
  for (const Finding& f : findings)
    table.add_row({f.topic, std::string(name_of(f.verdict)), f.found, f.expected});
  return table.render();
}

std::string number(const std::optional<double>& value) {
  return value ? significant(*value, kBandDigits) : "";
}

std::string band_text(const CeilingFinding& ceiling) {
  if (!ceiling.band) return "no band recorded";
  if (!ceiling.band->high) return fmt::format("≥ {}", number(ceiling.band->low));
  if (!ceiling.band->low) return fmt::format("≤ {}", number(ceiling.band->high));
  return fmt::format("{} to {}", number(ceiling.band->low), number(ceiling.band->high));
}

std::string ceilings_table(const std::vector<CeilingFinding>& ceilings) {
  TextTable table;
  for (const char* title : {"ceiling", "verdict"})
    table.add_column(title, Align::left);
  table.add_column("measured", Align::right);
  for (const char* title : {"unit", "healthy"})
    table.add_column(title, Align::left);
  for (const char* title : {"datasheet", "% of it"})
    table.add_column(title, Align::right);
  for (const CeilingFinding& f : ceilings) {
    const auto value = f.measured ? std::optional(f.measured->value) : std::nullopt;
    const std::string share =
        value && f.datasheet ? fmt::format("{:.1f}", 100 * *value / *f.datasheet) : "";
    table.add_row({f.term->id, std::string(name_of(f.finding.verdict)),
                   value ? significant(*value, kMeasuredDigits) : "none", f.term->unit,
                   band_text(f), number(f.datasheet), share});
  }
  return table.render();
}

std::string explanation(const Finding& f, bool is_ceiling, bool state_known) {
  std::string text = fmt::format("{}: {}", f.topic, f.found);
  if (!f.expected.empty()) text += fmt::format(" instead of {}", f.expected);
  text += fmt::format(": {}.", f.cost);
  if (!f.likely.empty()) text += fmt::format(" Likely because {}.", f.likely);
  if (is_ceiling && f.verdict == FindingVerdict::off && f.likely.empty() && state_known)
    text += " The state does not explain it.";
  return text;
}

std::string why_text(const HealthReport& report, FindingVerdict verdict, std::size_t width) {
  constexpr std::size_t kNoLimit = 1'000'000;
  constexpr std::size_t kMinWidth = 40;
  constexpr std::size_t kIndent = 2;
  const auto lines = [&](const std::string& text, std::size_t indent) {
    return paragraph(text, width ? std::max(width, kMinWidth) : kNoLimit, indent);
  };
  std::string text;
  const auto add = [&](const Finding& f, bool is_ceiling) {
    if (f.verdict != verdict || f.cost.empty()) return;
    text += lines(explanation(f, is_ceiling, !report.state.empty()), kIndent);
    if (!f.cure.empty()) text += lines(cure_of(report, f), 2 * kIndent);
  };
  for (const Finding& f : all_states(report))
    add(f, false);
  for (const CeilingFinding& f : all_ceilings(report))
    add(f.finding, true);
  return text.empty() ? "" : fmt::format("\n{}:\n{}", name_of(verdict), text);
}

// Topics of ceilings with a band that were not measured.
std::vector<std::string> waiting(const HealthReport& report) {
  std::vector<std::string> ids;
  for (const CeilingFinding& f : all_ceilings(report)) {
    if (!f.measured) ids.push_back(f.finding.topic);
  }
  return ids;
}

std::string unjudged_text(const HealthReport& report) {
  const std::vector<std::string> missing = waiting(report);
  const std::vector<CeilingFinding> ceilings = all_ceilings(report);
  const auto no_band =
      std::ranges::count_if(ceilings, [](const CeilingFinding& f) { return !f.band; });
  const std::string unknown =
      fmt::format("{}", fmt::join(topics(all_states(report), FindingVerdict::unknown), ", "));
  std::string text;
  if (!unknown.empty()) text += fmt::format("unknown to the driver: {}\n", unknown);
  if (report.state.empty()) text += "the GPU's state is not checked: files do not contain it\n";
  if (!missing.empty()) text += fmt::format("not measured: {}\n", fmt::join(missing, ", "));
  if (no_band > 0) {
    text += fmt::format("no band recorded for {} of {}: see docs/health.md to contribute one\n",
                        counted(no_band, "ceiling"), printable(report.device));
  }
  return text;
}

std::string verdict_text(const HealthReport& report) {
  const std::vector<Finding> all = all_findings(report);
  const auto off = topics(all, FindingVerdict::off);
  if (!off.empty()) {
    return fmt::format("{} failed: {}\n", counted(off.size(), "check"), fmt::join(off, ", "));
  }
  if (topics(all, FindingVerdict::pass).empty()) return "nothing could be judged\n";
  if (const auto missing = waiting(report); !missing.empty()) {
    return fmt::format("not known to be healthy: {} with a band not measured\n",
                       counted(missing.size(), "ceiling"));
  }
  const std::vector<CeilingFinding> ceilings = all_ceilings(report);
  const auto within = std::ranges::count_if(
      ceilings, [](const CeilingFinding& f) { return f.finding.verdict == FindingVerdict::pass; });
  if (within == 0) return "no check failed, but only the state could be judged\n";
  return fmt::format("healthy: {} within {}\n", counted(within, "ceiling"),
                     noun_for(within, "its band", "their bands"));
}

}  // namespace

std::vector<Finding> all_findings(const HealthReport& report) {
  std::vector<Finding> all = all_states(report);
  for (const CeilingFinding& ceiling : all_ceilings(report))
    all.push_back(ceiling.finding);
  return all;
}

std::string cure_of(const HealthReport& report, const Finding& finding) {
  constexpr std::string_view kPlaceholder = "-i GPU ";
  std::string cure = finding.cure;
  if (report.after && report.after->is_mig_instance) return cure;
  for (std::size_t at = 0; (at = cure.find(kPlaceholder, at)) != std::string::npos; ++at)
    cure.replace(at, kPlaceholder.size(), fmt::format("-i {} ", report.uuid));
  return cure;
}

HealthVerdict verdict_of(const HealthReport& report) {
  const std::vector<Finding> all = all_findings(report);
  if (!topics(all, FindingVerdict::off).empty()) return HealthVerdict::off;
  const bool is_judged = !topics(all, FindingVerdict::pass).empty() && waiting(report).empty();
  return is_judged ? HealthVerdict::healthy : HealthVerdict::unjudged;
}

std::string health_text(const HealthReport& report, std::size_t width) {
  std::string text =
      printable(fmt::format("{}  ({}), {}", report.device, report.uuid, report.source)) + "\n";
  if (!report.state.empty()) text += fmt::format("\n{}", state_table(report.state));
  if (!report.ceilings.empty()) text += fmt::format("\n{}", ceilings_table(report.ceilings));
  for (const LinkHealth& link : report.links) {
    text += fmt::format("\nlinks to device {} ({}), {}\n\n", link.peer, printable(link.peer_uuid),
                        link.way);
    if (!link.state.empty()) text += state_table(link.state) + "\n";
    if (!link.ceilings.empty()) text += ceilings_table(link.ceilings);
  }
  text += why_text(report, FindingVerdict::note, width);
  text += why_text(report, FindingVerdict::off, width);
  return fmt::format("{}\n{}{}", text, unjudged_text(report), verdict_text(report));
}

}  // namespace gpuexp
