#include "render/line_comparison_text.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "render/comparison_page.hpp"
#include "render/prediction_text.hpp"

namespace gpuexp {

namespace {

constexpr double kExplainedShare = 0.8;
constexpr double kPercent = 100;

using LineCells = std::vector<std::string>;

struct LineRow {
  LineCells cells;
  std::string source;
  Style style = Style::plain;
};

/// Right-aligned columns, and source text after them.
std::string table_text(const std::vector<LineRow>& rows, const TerminalOptions& options) {
  constexpr std::size_t kColumnGap = 2;
  std::vector<std::size_t> widths(rows.front().cells.size());
  for (const LineRow& row : rows) {
    for (std::size_t c = 0; c < widths.size(); ++c)
      widths[c] = std::max(widths[c], display_width(options.text(row.cells[c])));
  }
  std::string text;
  for (const LineRow& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < widths.size(); ++c)
      line += std::string(kColumnGap, ' ') + pad_left(options.text(row.cells[c]), widths[c]);
    if (!row.source.empty()) {
      const std::string source = options.text("| " + printable(row.source));
      line += "  " + source.substr(0, options.room(display_width(line) + kColumnGap));
    }
    text += options.styled(line, row.style) + "\n";
  }
  return text;
}

// "4.2e6 → 1.0e6", or one number if both are equal.
std::string change_text(double before, double after) {
  const auto number = [](double value) { return fmt::format("{:.0f}", value); };
  if (number(before) == number(after)) return number(before);
  return fmt::format("{} → {}", number(before), number(after));
}

std::string times_text(const ComparedLine& line) {
  const std::string before = line.before ? time_text(line.counts_before.time_us) : "0";
  const std::string after = line.after ? time_text(line.counts_after.time_us) : "0";
  return before == after ? before : fmt::format("{} → {}", before, after);
}

std::string place_text(const std::optional<SourceLine>& at) {
  return at ? fmt::format("{}", at->line) : "";
}

bool is_changed(const ComparedLine& line) {
  const LineCounts& a = line.counts_before;
  const LineCounts& b = line.counts_after;
  return !line.before || !line.after || a.instructions != b.instructions ||
         a.sectors != b.sectors || a.wavefronts != b.wavefronts ||
         time_text(a.time_us) != time_text(b.time_us);
}

/// The measured ratio as a sentence, or why there is none.
std::string measured_text(const SideBySide& measured) {
  if (!measured.why_not.empty()) return fmt::format("Not measured: {}.", measured.why_not);
  const std::string how =
      fmt::format("{} launches each, from cold caches, alternately", measured.times.front().count);
  if (!measured.ratio) return fmt::format("Measured: {}; too few for an interval.", how);
  const std::string_view verdict = name_of(verdict_of(measured.ratio->ci95, 0));
  return fmt::format(
      "Measured: the second is {} the time of the first ({}, 95 % interval): {}. {}.",
      ratio_text(measured.ratio->value), interval_text(measured.ratio->ci95), verdict, how);
}

std::string totals_text(const LineComparison& comparison, const ComparedVersions& versions,
                        const std::optional<SideBySide>& measured, const TerminalOptions& options) {
  const LineCounts& a = comparison.before;
  const LineCounts& b = comparison.after;
  const auto count = [](double value) { return fmt::format("{:.0f}", value); };
  std::vector<LineRow> rows{
      {{"", versions.before.name, versions.after.name}, "", Style::bold},
      {{"predicted time", predicted_time_text(a.time_us, versions.before.band),
        predicted_time_text(b.time_us, versions.after.band)},
       ""},
      {{"warp instructions", count(a.instructions), count(b.instructions)}, ""},
      {{"sectors of global memory", count(a.sectors), count(b.sectors)}, ""},
      {{"wavefronts of shared memory", count(a.wavefronts), count(b.wavefronts)}, ""}};
  if (measured && measured->why_not.empty()) {
    rows.insert(rows.begin() + 1, {{"measured time", time_text(measured->times[0].median),
                                    time_text(measured->times[1].median)},
                                   ""});
  }
  const std::string text = table_text(rows, options);
  return measured ? text + "\n" + options.text(measured_text(*measured)) + "\n" : text;
}

std::string signed_time(double time_us) {
  return (time_us < 0 ? "−" : "+") + time_text(std::abs(time_us));
}

/// Lines that explain more than the whole change are opposed by others, so their share of it would
/// exceed 100 %.
std::string explained_text(double explained, double change, std::size_t lines) {
  const std::string count = counted(lines, "line");
  const double share_pct = kPercent * explained / change;
  constexpr double kRoundedPct = 0.5;
  if (share_pct < kPercent + kRoundedPct)
    return fmt::format("{} {} {:.0f} % of the change", count,
                       noun_for(lines, "explains", "explain"), share_pct);
  return fmt::format("{} {} it by {}, and all other lines by {}", count,
                     noun_for(lines, "changes", "change"), signed_time(explained),
                     signed_time(change - explained));
}

std::string change_explanation(const LineComparison& comparison, const TerminalOptions& options) {
  const double change = comparison.change_us();
  const std::vector<std::size_t> explaining = lines_that_explain(comparison, kExplainedShare);
  if (explaining.empty() || std::ranges::none_of(comparison.lines, is_changed) ||
      time_text(comparison.before.time_us) == time_text(comparison.after.time_us))
    return "The predicted time does not change.\n";
  double explained = 0;
  std::vector<LineRow> rows{{{"before", "after", "change"}, "", Style::bold}};
  for (const std::size_t i : explaining) {
    const ComparedLine& line = comparison.lines[i];
    explained += line.change_us();
    rows.push_back(
        {{place_text(line.before), place_text(line.after), signed_time(line.change_us())},
         line.text});
  }
  const std::string text = fmt::format("The predicted time changes by {}. {}:", signed_time(change),
                                       explained_text(explained, change, explaining.size()));
  return options.text(text) + "\n" + table_text(rows, options);
}

std::string lines_text(const LineComparison& comparison, bool all, const TerminalOptions& options) {
  std::vector<LineRow> rows{
      {{"before", "after", "instr.", "sectors", "shared", "time"}, "", Style::bold}};
  for (const ComparedLine& line : comparison.lines) {
    if (!all && !is_changed(line)) continue;
    const LineCounts& a = line.counts_before;
    const LineCounts& b = line.counts_after;
    const bool is_in_both = line.before && line.after;
    rows.push_back({{place_text(line.before), place_text(line.after),
                     change_text(a.instructions, b.instructions), change_text(a.sectors, b.sectors),
                     change_text(a.wavefronts, b.wavefronts), times_text(line)},
                    line.text,
                    is_in_both ? Style::plain : Style::bold});
  }
  const std::size_t shown = rows.size() - 1;
  const std::size_t executed = comparison.lines.size();
  if (executed == 0) return "The machine code names no executed line.\n";
  if (shown == 0)
    return fmt::format("No line changed; {} {} executed.\n", counted(executed, "line"),
                       noun_for(executed, "is", "are"));
  const std::string heading =
      all ? counted(executed, "executed line")
          : fmt::format("{} of {} changed", shown, counted(executed, "executed line"));
  return heading + ":\n" + table_text(rows, options);
}

}  // namespace

std::string line_comparison_text(const LineComparison& comparison, const ComparedVersions& versions,
                                 const std::optional<SideBySide>& measured, bool all,
                                 const TerminalOptions& options) {
  return totals_text(comparison, versions, measured, options) + "\n" +
         change_explanation(comparison, options) + "\n" + lines_text(comparison, all, options);
}

}  // namespace gpuexp
