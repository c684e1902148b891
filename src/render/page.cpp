#include "render/page.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/explanation.hpp"
#include "analysis/headline.hpp"
#include "analysis/report_summary.hpp"
#include "analysis/row_labels.hpp"
#include "analysis/sentence_fragments.hpp"
#include "base/text.hpp"
#include "render/explanation_text.hpp"
#include "render/figure_views.hpp"
#include "render/run_times_view.hpp"
#include "render/view_columns.hpp"
#include "results/reference_rows.hpp"

namespace gpuexp {

namespace {

class ViewBuilder : public ViewColumns {
 public:
  ViewBuilder(const ExperimentResults& experiment, TimeUnits units)
      : ViewColumns(experiment), units_(units) {}

  ExperimentView build(const DeviceRates& rates) {
    add_title();
    add_labels();
    view().first_number = view().columns.size();
    if (experiment().constant(&ResultRecord::executed_on) == kSimulated) {
      add_predictions();
      add_verification_flags();
      view().first_metric = view().columns.size();
      add_counters();
    } else {
      add_times(units_);
      add_rates();
      add_limit();
      add_speedup();
      if (units_ == TimeUnits::heading) add_prediction_errors();
      add_flags();
      view().first_metric = view().columns.size();
    }
    add_error();
    for (const ColumnHandle& metric : experiment().metrics)
      add_numbers(metric, metric.name);
    add_notes();
    view().headline = printable(headline_of(experiment()));
    add_explanations(rates);
    return take();
  }

 private:
  void add_title() {
    view().title = title_of(experiment());
    view().facts = shared_facts(experiment());
    const auto fact = [&](const std::string& text) { view().facts.push_back(printable(text)); };
    if (!experiment().constant(&ResultRecord::baseline).empty())
      fact("speedup over " + experiment().constant(&ResultRecord::baseline));
    if (!experiment().constant(&ResultRecord::limit_by).empty())
      fact("limit: " + experiment().constant(&ResultRecord::limit_by));
    if (experiment().constant(&ResultRecord::work_from) == kAssumedWork) fact("work: assumed");
  }

  void add_labels() {
    for (const RowLabel& c : row_labels(experiment()))
      add(c.heading, c.is_number, [&](const ResultRecord& row) { return c.column.text(row); });
  }

  void add_limit() {
    add_numbers(column_of(&ResultRecord::limit_pct), "% of limit");
    if (experiment().values(&ResultRecord::limit_by).size() < 2) return;
    add("limit by", false,
        [](const ResultRecord& row) { return row.has_values() ? row.limit_by : std::string(); });
  }

  void add_predictions() {
    if (!numbers_of(column_of(&ResultRecord::predicted_time_us)).empty())
      add_predicted_times(units_);
    const ReferenceRows baselines(experiment(), [](const ResultRecord& row) {
      return row.variant == row.baseline && row.passed() && row.predicted_time_us;
    });
    if (!baselines.empty()) {
      add("predicted speedup", true, [&](const ResultRecord& row) {
        const ResultRecord* const baseline = baselines.find(row.baseline, row);
        if (!row.passed() || !row.predicted_time_us || !baseline) return std::string();
        return number_fragment(*baseline->predicted_time_us / *row.predicted_time_us);
      });
    }
    add_any("bound by", false, [](const ResultRecord& row) {
      return row.has_values() ? row.bound_by : std::string();
    });
  }

  // Predicted times and prediction errors, in addition to measured times.
  void add_prediction_errors() {
    if (numbers_of(column_of(&ResultRecord::prediction_error)).empty()) return;
    add_predicted_times(TimeUnits::heading);
    add("off %", true, [](const ResultRecord& row) {
      if (!row.has_values() || !row.prediction_error) return std::string();
      return fmt::format("{:+.1f}", 100 * std::expm1(*row.prediction_error));
    });
    add_any("bound by", false, [](const ResultRecord& row) {
      return row.has_values() ? row.bound_by : std::string();
    });
  }

  void add_counters() {
    std::vector<std::string> names;
    for (const ResultRecord& row : experiment().rows) {
      for (const ExpectedChange& change : row.expected_changes) {
        if (std::find(names.begin(), names.end(), change.counter) == names.end())
          names.push_back(change.counter);
      }
    }
    for (const std::string& name : names) {
      const ColumnHandle counter = column_named(kCounterPrefix + name);
      if (experiment().values(counter).size() > 1) add_numbers(counter, name);
    }
  }

  // Adds speedups, and a bar that shows them if any differs from 1.
  void add_speedup() {
    const ColumnHandle speedup = column_of(&ResultRecord::speedup);
    const auto speedups = numbers_of(speedup);
    if (speedups.empty()) return;
    add_numbers(speedup, "speedup");
    if (std::ranges::any_of(speedups, [](double s) { return s != 1; })) add_bar(speedup);
  }

  // Leaves out explanations without counters, which add nothing to the headline.
  void add_explanations(const DeviceRates& rates) {
    for (const Explanation& explanation : explanations_of(experiment(), {rates, false})) {
      if (explanation.counted)
        view().explanations.push_back(printable(text_of(experiment(), explanation)));
    }
  }

  TimeUnits units_;
};

}  // namespace

std::vector<ExperimentView> views_of(const RecordTable& table, const DeviceRates& rates,
                                     TimeUnits units) {
  std::vector<ExperimentView> views;
  for (const ExperimentResults& experiment : experiments_of(table))
    views.push_back(ViewBuilder(experiment, units).build(rates));
  return views;
}

ExperimentView heading_of(const ExperimentResults& experiment) {
  ExperimentView view;
  view.title = title_of(experiment);
  view.facts = shared_facts(experiment);
  return view;
}

std::vector<std::string> provenance_facts(const Provenance& p) {
  std::vector<std::string> facts;
  const auto add = [&](const char* prefix, const std::optional<std::string>& value) {
    if (value) facts.push_back(printable(prefix + *value));
  };
  constexpr std::size_t kShortCommit = 12;
  add("gpuexp ", p.gpuexp_version);
  if (p.git_commit) {
    add("commit ", p.git_commit->substr(0, kShortCommit) +
                       (p.git_dirty.value_or(false) ? " with local changes" : ""));
  }
  if (p.device.is_simulated()) {
    facts.push_back(printable(p.device.name.value_or("a GPU") + ", simulated: no times"));
  } else {
    add("", p.device.name);
  }
  if (!p.parts.empty()) facts.push_back(fmt::format("merged from {} parts", p.parts.size()));
  add("shard ", p.shard);
  add("driver ", p.device.driver_version);
  add("CUDA ", p.device.runtime_version);
  add("", p.utc);
  add("", p.config.path);
  return facts;
}

/// How little of the sampled rows was compared; empty if there are none.
std::string compared_text(const Report& report) {
  std::optional<double> least;
  for (const ResultRecord& row : report.table.rows) {
    if (row.status == Status::sampled && row.verified_pct)
      least = std::min(least.value_or(*row.verified_pct), *row.verified_pct);
  }
  return least ? fmt::format("; at least {:.3g} % of the elements of sampled rows were compared",
                             *least)
               : "";
}

std::string summary_of(const Report& report) {
  std::vector<std::string> parts;
  for (const auto& [status, count] : status_counts(report.table))
    parts.push_back(fmt::format("{} {}", count, status));
  std::string text = counted(report.table.rows.size(), "row");
  if (!parts.empty()) text += fmt::format(": {}", fmt::join(parts, ", "));
  text += compared_text(report);
  if (!report.complete) text += "; the run did not finish";
  return text;
}

Page page_of(const Report& report) {
  Page page;
  const auto facts = provenance_facts(report.provenance);
  if (!facts.empty()) page.head.push_back(fmt::format("{}", fmt::join(facts, " · ")));
  if (const auto& ceilings = report.provenance.ceilings)
    page.head.push_back(printable(fmt::format("predictions from {}", ceilings->source)));
  page.experiments = views_of(report.table, device_rates(report));
  for (ExperimentView& view : figure_views(report.figures, report.table.rows))
    page.experiments.push_back(std::move(view));
  if (auto times = run_times_view(report)) page.experiments.push_back(std::move(*times));
  page.summary = summary_of(report);
  const std::string figures = figures_summary(report.figures, report.table.rows);
  if (!figures.empty()) page.summary += "; " + figures;
  return page;
}

}  // namespace gpuexp
