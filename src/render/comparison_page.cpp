#include "render/comparison_page.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/identity.hpp"
#include "base/text.hpp"

namespace gpuexp {

namespace {

// In the order in which a reader wants them.
constexpr std::array<Outcome, kOutcomeCount> kOrder{
    Outcome::broken,   Outcome::missing, Outcome::slower, Outcome::inconclusive, Outcome::faster,
    Outcome::repaired, Outcome::added,   Outcome::same,   Outcome::untested};

std::string ratio_text(double ratio) {
  constexpr double kManyTimes = 10;
  constexpr int kDigits = 4;
  return ratio < kManyTimes && ratio > 1 / kManyTimes ? fmt::format("{:.3f}", ratio)
                                                      : significant(ratio, kDigits);
}

std::string interval_text(double low, double high) {
  return fmt::format("{}–{}", ratio_text(low), ratio_text(high));
}

struct CompareRank {
  std::size_t outcome;
  double distance;  ///< the larger, the earlier
  friend bool operator<(const CompareRank& a, const CompareRank& b) {
    return a.outcome != b.outcome ? a.outcome < b.outcome : a.distance > b.distance;
  }
};

Outcome outcome_of(const ResultRow& row) {
  const std::string name = row.text("outcome");
  return *std::find_if(kOrder.begin(), kOrder.end() - 1,
                       [&](Outcome o) { return name_of(o) == name; });
}

CompareRank rank_of(const ResultRow& row) {
  const auto place = std::find(kOrder.begin(), kOrder.end(), outcome_of(row)) - kOrder.begin();
  const auto ratio = row.number("ratio");
  return {static_cast<std::size_t>(place), ratio ? std::abs(std::log(*ratio)) : 0};
}

bool is_news(const ResultRow& row) {
  const Outcome outcome = outcome_of(row);
  return outcome != Outcome::same && outcome != Outcome::untested;
}

// Where the reason stands in place of the numbers.
bool has_no_times(const ResultRow& row) {
  return !row.number("time_a_us") || !row.number("time_b_us");
}

std::string in_capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::vector<std::string> number_cells(const ResultRow& row) {
  const auto time = [&](const char* column) {
    const auto number = row.number(column);
    return number ? time_text(*number) : "";
  };
  const auto ratio = row.number("ratio");
  const auto effect = row.number("min_effect_pct");
  const std::string verdict = in_capitals(row.text("outcome"));
  return {time("time_a_us"),
          time("time_b_us"),
          ratio ? ratio_text(*ratio) : "",
          ratio ? interval_text(*row.number("ratio_ci95_low"), *row.number("ratio_ci95_high")) : "",
          effect ? fmt::format("{:.1f} %", *effect) : "",
          ratio ? verdict : fmt::format("{} ({})", verdict, row.text("why"))};
}

ViewRow row_of(const ResultRow& row, const std::vector<IdentityColumn>& identity) {
  ViewRow view;
  for (const IdentityColumn& c : identity)
    view.cells.push_back(printable(row.text(c.column)));
  for (const std::string& cell : number_cells(row))
    view.cells.push_back(printable(cell));
  if (has_no_times(row)) {
    const std::string status_b = row.text("status_b");
    view.status = status_b.empty() || status_b == "passed" ? "not_run" : status_b;
    view.note = printable(fmt::format("{}: {}", in_capitals(row.text("outcome")), row.text("why")));
  }
  return view;
}

ExperimentView view_of(const ExperimentResults& e, const Tally& tally, bool all) {
  ExperimentView view;
  view.title = title_of(e);
  view.facts = shared_facts(e);
  const auto identity = identity_columns(e);
  for (const IdentityColumn& c : identity)
    view.columns.push_back({printable(c.heading), c.is_number});
  view.first_number = view.columns.size();
  for (const char* heading : {"A", "B", "B/A", "95 % interval", "min. effect"})
    view.columns.push_back({heading, true});
  view.columns.push_back({"verdict", false});
  view.note_column = view.columns.size() - 1;
  view.first_metric = view.columns.size();
  std::vector<ResultRow> rows = e.rows;
  if (!all) rows.erase(std::remove_if(rows.begin(), rows.end(), std::not_fn(is_news)), rows.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ResultRow& a, const ResultRow& b) { return rank_of(a) < rank_of(b); });
  for (const ResultRow& row : rows)
    view.rows.push_back(row_of(row, identity));
  view.reading = summary_of(tally);
  return view;
}

}  // namespace

std::string summary_of(const Tally& tally) {
  std::vector<std::string> parts;
  for (const Outcome outcome : kOrder) {
    if (tally.count(outcome) > 0)
      parts.push_back(fmt::format("{} {}", tally.count(outcome), name_of(outcome)));
  }
  std::string text = fmt::format("{}", fmt::join(parts, ", "));
  if (const auto mean = geometric_mean(tally.ratios)) {
    text += fmt::format("; geometric mean of B/A {} ({})", ratio_text(mean->value),
                        interval_text(mean->ci95.low, mean->ci95.high));
  }
  return text;
}

Page page_of(const RunComparison& comparison, std::vector<std::string> head,
             const ComparisonPageOptions& options) {
  Page page;
  page.head = std::move(head);
  const auto experiments = experiments_of(comparison.table);
  for (std::size_t i = 0; i < experiments.size(); ++i)
    page.experiments.push_back(view_of(experiments[i], comparison.experiments[i], options.all));
  const std::size_t rows = comparison.rows.size();
  page.summary = fmt::format("{} {}{}{}", rows, rows == 1 ? "row" : "rows", rows ? ": " : "",
                             summary_of(comparison.all));
  const bool is_vague = std::any_of(
      comparison.rows.begin(), comparison.rows.end(),
      [](const ComparedRow& row) { return row.outcome == Outcome::inconclusive && row.ratio; });
  if (is_vague) {
    page.summary +=
        "\nINCONCLUSIVE says neither: both runs with a smaller target (--set "
        "measure.target_relative_ci=0.003) have narrower intervals";
  }
  return page;
}

}  // namespace gpuexp
