#include "render/comparison_page.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/row_labels.hpp"
#include "base/text.hpp"
#include "results/results.hpp"

namespace gpuexp {

namespace {

constexpr std::array<Outcome, kOutcomeCount> kOrder{
    Outcome::broken,   Outcome::missing, Outcome::slower, Outcome::inconclusive, Outcome::faster,
    Outcome::repaired, Outcome::added,   Outcome::same,   Outcome::untested};

struct CompareRank {
  std::size_t outcome;
  double distance;  ///< rows with a larger distance come first
  friend bool operator<(const CompareRank& a, const CompareRank& b) {
    return a.outcome != b.outcome ? a.outcome < b.outcome : a.distance > b.distance;
  }
};

CompareRank rank_of(const ComparedRow& row) {
  const auto place = std::find(kOrder.begin(), kOrder.end(), row.outcome) - kOrder.begin();
  return {static_cast<std::size_t>(place), row.ratio ? std::abs(std::log(row.ratio->value)) : 0};
}

bool is_news(const ComparedRow& row) {
  return row.outcome != Outcome::same && row.outcome != Outcome::untested;
}

// True if the row shows its reason instead of numbers.
bool has_no_times(const ComparedRow& row) {
  return !row.a || !row.b;
}

std::string in_capitals(std::string_view name) {
  std::string text(name);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::vector<std::string> number_cells(const ComparedRow& row) {
  constexpr double kPercent = 100;
  const auto time = [](const std::optional<Statistics>& s) {
    return s ? time_text(s->median) : "";
  };
  const auto& ratio = row.ratio;
  const std::string verdict = in_capitals(name_of(row.outcome));
  return {time(row.a),
          time(row.b),
          ratio ? ratio_text(ratio->value) : "",
          ratio ? interval_text(ratio->ci95) : "",
          row.effect ? fmt::format("{:.1f} %", kPercent * *row.effect) : "",
          ratio ? verdict : fmt::format("{} ({})", verdict, row.reason)};
}

ViewRow row_of(const ComparedRow& row, const std::vector<RowLabel>& labels) {
  ViewRow view;
  view.key = printable(row.record->key);
  for (const RowLabel& c : labels)
    view.cells.push_back(printable(c.column.text(*row.record)));
  for (const std::string& cell : number_cells(row))
    view.cells.push_back(printable(cell));
  if (has_no_times(row)) {
    const Status status_b = row.status_b.value_or(Status::not_run);
    view.status = name_of(has_passed(status_b) ? Status::not_run : status_b);
    view.note = printable(fmt::format("{}: {}", in_capitals(name_of(row.outcome)), row.reason));
  }
  return view;
}

using ComparedRows = std::vector<const ComparedRow*>;

ExperimentView view_of(const ExperimentResults& e, ComparedRows rows, const Tally& tally,
                       bool all) {
  ExperimentView view;
  view.title = title_of(e);
  view.facts = shared_facts(e);
  const auto labels = row_labels(e);
  for (const RowLabel& c : labels)
    view.columns.push_back({printable(c.heading), c.is_number});
  view.first_number = view.columns.size();
  for (const char* heading : {"A", "B", "B/A", "95 % interval", "min. effect"})
    view.columns.push_back({heading, true});
  view.columns.push_back({"verdict", false});
  view.note_column = view.columns.size() - 1;
  if (!all) std::erase_if(rows, [](const ComparedRow* row) { return !is_news(*row); });
  std::ranges::stable_sort(
      rows, [](const ComparedRow* a, const ComparedRow* b) { return rank_of(*a) < rank_of(*b); });
  for (const ComparedRow* row : rows)
    view.rows.push_back(row_of(*row, labels));
  view.headline = summary_of(tally);
  return view;
}

}  // namespace

std::string ratio_text(double ratio) {
  constexpr double kManyTimes = 10;
  constexpr int kDigits = 4;
  return ratio < kManyTimes && ratio > 1 / kManyTimes ? fmt::format("{:.3f}", ratio)
                                                      : significant(ratio, kDigits);
}

std::string interval_text(const Interval& ratio) {
  return fmt::format("{}–{}", ratio_text(ratio.low), ratio_text(ratio.high));
}

std::string summary_of(const Tally& tally) {
  std::vector<std::string> parts;
  for (const Outcome outcome : kOrder) {
    if (tally.count(outcome) > 0)
      parts.push_back(fmt::format("{} {}", tally.count(outcome), name_of(outcome)));
  }
  std::string text = fmt::format("{}", fmt::join(parts, ", "));
  if (const auto mean = geometric_mean(tally.ratios)) {
    text += fmt::format("; geometric mean of B/A {} ({})", ratio_text(mean->value),
                        interval_text(mean->ci95));
  }
  return text;
}

Page page_of(const RunComparison& comparison, std::vector<std::string> head,
             const ComparisonPageOptions& options) {
  Page page;
  page.head = std::move(head);
  std::vector<RecordRef> records;
  std::map<std::string, ComparedRows> of_experiment;
  for (const ComparedRow& row : comparison.rows) {
    records.emplace_back(*row.record);
    of_experiment[row.record->experiment].push_back(&row);
  }
  const auto experiments = experiments_of(comparison.labels, records);
  for (std::size_t i = 0; i < experiments.size(); ++i) {
    page.experiments.push_back(view_of(experiments[i], of_experiment[experiments[i].name],
                                       comparison.experiments[i], options.all));
  }
  const std::size_t rows = comparison.rows.size();
  page.summary =
      fmt::format("{}{}{}", counted(rows, "row"), rows ? ": " : "", summary_of(comparison.all));
  const bool is_vague = std::ranges::any_of(comparison.rows, [](const ComparedRow& row) {
    return row.outcome == Outcome::inconclusive && row.ratio;
  });
  if (is_vague) {
    page.summary +=
        "\nINCONCLUSIVE rows may differ or not: repeat both runs with a smaller target (--set "
        "measure.target_relative_ci=0.003) for narrower intervals";
  }
  return page;
}

}  // namespace gpuexp
