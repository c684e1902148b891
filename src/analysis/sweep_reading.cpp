#include "analysis/sweep_reading.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/phrases.hpp"

namespace gpuexp {

namespace {

using Series = std::vector<ResultRow>;

struct Rate {
  std::string column;
  std::string unit;
};

// The rate that every timed row has, in the unit of what limits.
std::optional<Rate> rate_of(const ExperimentResults& e) {
  const auto everywhere = [&](const char* column) {
    return std::all_of(e.rows.begin(), e.rows.end(), [&](const ResultRow& row) {
      return !row.time_us() || row.number(column).value_or(0) > 0;
    });
  };
  if (e.constant("limit_by") != "dram" && everywhere("tflops")) return Rate{"tflops", "TFLOP/s"};
  if (everywhere("useful_gb_per_s")) return Rate{"useful_gb_per_s", "GB/s"};
  return std::nullopt;
}

struct Sweep {
  const ResultAxis* axis;
  Rate rate;
  std::vector<Series> series;  ///< all but the axis alike, in the order of its values

  double rate_at(const ResultRow& row) const { return *row.number(rate.column); }
  // The rates at the ends of the interval of the median time.
  double lowest_rate_at(const ResultRow& row) const {
    return rate_at(row) * *row.time_us() / row.number("time_ci95_high_us").value_or(*row.time_us());
  }
  double highest_rate_at(const ResultRow& row) const {
    return rate_at(row) * *row.time_us() / row.number("time_ci95_low_us").value_or(*row.time_us());
  }
  std::string value_at(const ResultRow& row) const {
    return fmt::format("{} = {}", axis->label, row.text(axis->column));
  }
  std::string rate_text(const ResultRow& row) const {
    return fmt::format("{} {} ({})", number_phrase(rate_at(row)), rate.unit, value_at(row));
  }
};

std::optional<Sweep> sweep_of(const ExperimentResults& e) {
  const ResultAxis* axis = swept_axis(e);
  const auto rate = rate_of(e);
  if (!axis || !rate) return std::nullopt;
  std::map<std::string, Series> series;
  for (const ResultRow& row : e.rows) {
    if (!row.time_us() || !row.number(axis->column) || row.is_above_limit()) continue;
    std::string key = row.variant() + '\0' + row.text("mode");
    for (const ResultAxis& other : e.axes) {
      if (other.column != axis->column) key += '\0' + row.text(other.column);
    }
    series[key].push_back(row);
  }
  Sweep sweep{axis, *rate, {}};
  for (auto& [key, rows] : series) {
    std::stable_sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) {
      return *a.number(axis->column) < *b.number(axis->column);
    });
    if (rows.size() > 1) sweep.series.push_back(std::move(rows));
  }
  if (sweep.series.empty()) return std::nullopt;
  return sweep;
}

struct Step {
  const Series* series;
  const ResultRow* from;
  const ResultRow* to;
  double drop_pct;
};

// Where the rate falls most from one value to the next, by more than the samples leave open.
std::optional<Step> largest_drop(const Sweep& sweep) {
  constexpr double kWorthSayingPct = 5.0;
  constexpr double kTiePct = 0.1;  // of steps as large, the first
  std::optional<Step> largest;
  for (const Series& rows : sweep.series) {
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
      const double drop_pct = 100 * (1 - sweep.rate_at(rows[i + 1]) / sweep.rate_at(rows[i]));
      if (drop_pct < std::max(kWorthSayingPct, largest ? largest->drop_pct + kTiePct : 0)) continue;
      if (sweep.highest_rate_at(rows[i + 1]) >= sweep.lowest_rate_at(rows[i])) continue;
      largest = Step{&rows, &rows[i], &rows[i + 1], drop_pct};
    }
  }
  return largest;
}

// The variant and other parameters of a series, where there are several series.
std::string series_name(const ExperimentResults& e, const Sweep& sweep, const ResultRow& row) {
  std::vector<std::string> parts;
  if (e.values("variant").size() > 1) parts.push_back(row.variant());
  for (const ResultAxis& axis : e.axes) {
    if (axis.varies && axis.column != sweep.axis->column)
      parts.push_back(fmt::format("{} = {}", axis.label, row.text(axis.column)));
  }
  if (e.values("mode").size() > 1) parts.push_back(row.text("mode"));
  return parts.empty() ? "" : fmt::format("{}: ", fmt::join(parts, ", "));
}

struct Extremes {
  const ResultRow* slowest;
  const ResultRow* fastest;
};

Extremes extremes_of(const Sweep& sweep, const Series& rows) {
  const auto [low, high] = std::minmax_element(
      rows.begin(), rows.end(),
      [&](const auto& a, const auto& b) { return sweep.rate_at(a) < sweep.rate_at(b); });
  return {&*low, &*high};
}

double ratio_of(const Sweep& sweep, const Extremes& x) {
  return sweep.rate_at(*x.fastest) / sweep.rate_at(*x.slowest);
}

// The series with the widest range speaks for a sweep without steps.
std::string range_reading(const ExperimentResults& e, const Sweep& sweep) {
  const auto widest = std::max_element(
      sweep.series.begin(), sweep.series.end(), [&](const Series& a, const Series& b) {
        return ratio_of(sweep, extremes_of(sweep, a)) < ratio_of(sweep, extremes_of(sweep, b));
      });
  const Extremes x = extremes_of(sweep, *widest);
  const std::string series = series_name(e, sweep, *x.slowest);
  constexpr double kWorthSaying = 1.02;
  const bool resolved = sweep.highest_rate_at(*x.slowest) < sweep.lowest_rate_at(*x.fastest);
  if (!resolved || ratio_of(sweep, x) < kWorthSaying)
    return fmt::format(
        "{}throughput hardly depends on {}{}", series, sweep.axis->label,
        share_phrase(e, *widest, [&](const ResultRow& row) { return sweep.value_at(row); }));
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

std::string sweep_reading(const ExperimentResults& e) {
  const auto sweep = sweep_of(e);
  if (!sweep) return "";
  const auto drop = largest_drop(*sweep);
  if (!drop) return range_reading(e, *sweep);
  const Extremes x = extremes_of(*sweep, *drop->series);
  // A family that counts whole waves says so in a metric of its own.
  const auto counts_waves = [](const std::string& metric) { return metric == "metric.waves"; };
  std::vector<std::string> columns;
  if (std::none_of(e.metrics.begin(), e.metrics.end(), counts_waves)) columns.emplace_back("waves");
  columns.insert(columns.end(), e.metrics.begin(), e.metrics.end());
  const std::string change = change_phrase(*drop->from, *drop->to, columns);
  return fmt::format("{}throughput drops {} % from {} to {}{}, the largest step between {} and {}",
                     series_name(e, *sweep, *drop->to), percent_phrase(drop->drop_pct),
                     sweep->value_at(*drop->from), drop->to->text(sweep->axis->column),
                     change.empty() ? "" : fmt::format(" ({})", change),
                     sweep->rate_text(*x.slowest), sweep->rate_text(*x.fastest));
}

}  // namespace gpuexp
