#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/headline.hpp"
#include "analysis/sentence_fragments.hpp"

namespace gpuexp {

namespace {

using Series = std::vector<RecordRef>;

struct Rate {
  std::optional<double> ResultRecord::*of;
  std::string unit;
};

// A rate that every timed row has, in the unit of the limiting resource.
std::optional<Rate> rate_of(const ExperimentResults& e) {
  const auto everywhere = [&](std::optional<double> ResultRecord::*rate) {
    return std::ranges::all_of(e.rows, [&](const ResultRecord& row) {
      return !row.time_us() || (row.*rate).value_or(0) > 0;
    });
  };
  if (e.constant(&ResultRecord::limit_by) != "dram" && everywhere(&ResultRecord::tflops))
    return Rate{&ResultRecord::tflops, "TFLOP/s"};
  if (everywhere(&ResultRecord::useful_gb_per_s))
    return Rate{&ResultRecord::useful_gb_per_s, "GB/s"};
  return std::nullopt;
}

struct Sweep {
  const ResultAxis* axis;
  Rate rate;
  std::vector<Series> series;  ///< rows that differ only in the axis, in the order of its values

  double rate_at(const ResultRecord& row) const { return *(row.*rate.of); }
  // lowest_rate_at() is the rate at the upper end of the time's interval; highest_rate_at() is the
  // rate at the lower end.
  double lowest_rate_at(const ResultRecord& row) const {
    return rate_at(row) * *row.time_us() / row.time_ci95_high_us.value_or(*row.time_us());
  }
  double highest_rate_at(const ResultRecord& row) const {
    return rate_at(row) * *row.time_us() / row.time_ci95_low_us.value_or(*row.time_us());
  }
  std::string value_at(const ResultRecord& row) const {
    return fmt::format("{} = {}", axis->label, axis->column.text(row));
  }
  std::string rate_text(const ResultRecord& row) const {
    return fmt::format("{} {} ({})", number_fragment(rate_at(row)), rate.unit, value_at(row));
  }
};

std::optional<Sweep> sweep_of(const ExperimentResults& e) {
  const ResultAxis* axis = swept_axis(e);
  const auto rate = rate_of(e);
  if (!axis || !rate) return std::nullopt;
  std::map<std::string, Series> series;
  for (const ResultRecord& row : e.rows) {
    if (!row.time_us() || !axis->column.number(row) || row.is_above_limit()) continue;
    std::string key = row.variant + '\0' + mode_text(row);
    for (const ResultAxis& other : e.axes) {
      if (other.column != axis->column) key += '\0' + other.column.text(row);
    }
    series[key].emplace_back(row);
  }
  Sweep sweep{axis, *rate, {}};
  for (auto& [key, rows] : series) {
    std::ranges::stable_sort(rows, {},
                             [&](const ResultRecord& row) { return *axis->column.number(row); });
    if (rows.size() > 1) sweep.series.push_back(std::move(rows));
  }
  if (sweep.series.empty()) return std::nullopt;
  return sweep;
}

struct Step {
  const Series* series;
  const ResultRecord* from;
  const ResultRecord* to;
  double drop_pct;
};

// The largest drop of the rate between consecutive values that is at least 5 % and that the
// intervals resolve.
std::optional<Step> largest_drop(const Sweep& sweep) {
  constexpr double kMinDropPct = 5.0;
  constexpr double kTiePct = 0.1;  // drops that differ by less are equal: the first is kept
  std::optional<Step> largest;
  for (const Series& rows : sweep.series) {
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
      const double drop_pct = 100 * (1 - sweep.rate_at(rows[i + 1]) / sweep.rate_at(rows[i]));
      if (drop_pct < std::max(kMinDropPct, largest ? largest->drop_pct + kTiePct : 0)) continue;
      if (sweep.highest_rate_at(rows[i + 1]) >= sweep.lowest_rate_at(rows[i])) continue;
      largest = Step{&rows, &rows[i].get(), &rows[i + 1].get(), drop_pct};
    }
  }
  return largest;
}

// The variant, other parameters and mode of a series, if they vary; "" if none of them varies.
std::string series_name(const ExperimentResults& e, const Sweep& sweep, const ResultRecord& row) {
  std::vector<std::string> parts;
  if (e.values(&ResultRecord::variant).size() > 1) parts.push_back(row.variant);
  for (const ResultAxis& axis : e.axes) {
    if (axis.varies && axis.column != sweep.axis->column)
      parts.push_back(fmt::format("{} = {}", axis.label, axis.column.text(row)));
  }
  if (e.values(&ResultRecord::mode).size() > 1) parts.push_back(mode_text(row));
  return parts.empty() ? "" : fmt::format("{}: ", fmt::join(parts, ", "));
}

struct Extremes {
  const ResultRecord* slowest;
  const ResultRecord* fastest;
};

Extremes extremes_of(const Sweep& sweep, const Series& rows) {
  const auto [low, high] = std::ranges::minmax_element(
      rows, {}, [&](const ResultRecord& row) { return sweep.rate_at(row); });
  return {&low->get(), &high->get()};
}

double ratio_of(const Sweep& sweep, const Extremes& x) {
  return sweep.rate_at(*x.fastest) / sweep.rate_at(*x.slowest);
}

// Without drops, the headline describes the series with the widest range.
std::string range_headline(const ExperimentResults& e, const Sweep& sweep) {
  const auto widest = std::ranges::max_element(sweep.series, {}, [&](const Series& rows) {
    return ratio_of(sweep, extremes_of(sweep, rows));
  });
  const Extremes x = extremes_of(sweep, *widest);
  const std::string series = series_name(e, sweep, *x.slowest);
  constexpr double kWorthSaying = 1.02;
  const bool resolved = sweep.highest_rate_at(*x.slowest) < sweep.lowest_rate_at(*x.fastest);
  if (!resolved || ratio_of(sweep, x) < kWorthSaying)
    return fmt::format(
        "{}throughput is nearly independent of {}{}", series, sweep.axis->label,
        share_fragment(e, *widest, [&](const ResultRecord& row) { return sweep.value_at(row); }));
  return fmt::format("{}throughput is between {} and {}", series, sweep.rate_text(*x.slowest),
                     sweep.rate_text(*x.fastest));
}

}  // namespace

const ResultAxis* swept_axis(const ExperimentResults& e) {
  const ResultAxis* longest = nullptr;
  std::size_t most = 1;
  for (const ResultAxis& axis : e.axes) {
    const std::size_t count = axis.numeric ? e.values(axis.column).size() : 0;
    if (count <= most) continue;
    longest = &axis;
    most = count;
  }
  return longest;
}

std::string sweep_headline(const ExperimentResults& e) {
  const auto sweep = sweep_of(e);
  if (!sweep) return "";
  const auto drop = largest_drop(*sweep);
  if (!drop) return range_headline(e, *sweep);
  const Extremes x = extremes_of(*sweep, *drop->series);
  // If a metric has the name `waves`, it replaces the column.
  const ColumnHandle waves = column_of(&ResultRecord::waves);
  const bool has_own = std::ranges::any_of(
      e.metrics, [&](const ColumnHandle& metric) { return metric.name == waves.name; });
  std::vector<ColumnHandle> columns;
  if (!has_own) columns.push_back(waves);
  columns.insert(columns.end(), e.metrics.begin(), e.metrics.end());
  const std::string change = change_fragment(*drop->from, *drop->to, columns);
  return fmt::format("{}throughput drops {} % from {} to {}{}, the largest step between {} and {}",
                     series_name(e, *sweep, *drop->to), percent_fragment(drop->drop_pct),
                     sweep->value_at(*drop->from), sweep->axis->column.text(*drop->to),
                     change.empty() ? "" : fmt::format(" ({})", change),
                     sweep->rate_text(*x.slowest), sweep->rate_text(*x.fastest));
}

}  // namespace gpuexp
