#include "analysis/report_summary.hpp"

#include <algorithm>
#include <cmath>

#include "stats/statistics.hpp"

namespace gpuexp {

namespace {

using NamedCounts = std::vector<std::pair<std::string, std::size_t>>;

void count_name(NamedCounts& counts, const std::string& name) {
  const auto found =
      std::find_if(counts.begin(), counts.end(), [&](const auto& c) { return c.first == name; });
  if (found == counts.end()) {
    counts.emplace_back(name, 1);
  } else {
    ++found->second;
  }
}

}  // namespace

NamedCounts status_counts(const RecordTable& table) {
  NamedCounts counts;
  for (const ResultRecord& row : table.rows)
    count_name(counts, row.status ? status_text(row) : "no status");
  return counts;
}

NamedCounts flag_counts(const RecordTable& table) {
  NamedCounts counts;
  for (const ResultRecord& row : table.rows) {
    if (!row.passed()) continue;
    for (const std::string& flag : row.flags)
      count_name(counts, flag);
  }
  std::stable_sort(counts.begin(), counts.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return counts;
}

std::optional<PredictionErrors> prediction_errors(const std::vector<RecordRef>& rows) {
  std::vector<double> factors;  // logarithms
  for (const ResultRecord& row : rows) {
    if (row.passed() && row.prediction_error) factors.push_back(std::abs(*row.prediction_error));
  }
  if (factors.empty()) return std::nullopt;
  const auto within = [&](double pct) {
    const double most = std::log1p(pct / 100);
    return static_cast<std::size_t>(
        std::count_if(factors.begin(), factors.end(), [&](double f) { return f <= most; }));
  };
  PredictionErrors errors;
  errors.rows = factors.size();
  errors.within_10_pct = within(10);
  errors.within_25_pct = within(25);
  errors.median_pct = 100 * std::expm1(median_of(std::move(factors)).value_or(0));
  return errors;
}

const ResultRecord* largest_speedup(const ExperimentResults& e) {
  constexpr double kLeastSpeedup = 1.02;
  const ResultRecord* best = nullptr;
  for (const ResultRecord& row : e.rows) {
    if (!row.passed() || row.is_above_limit() || row.speedup.value_or(0) < kLeastSpeedup) continue;
    if (!best || *row.speedup > *best->speedup) best = &row;
  }
  return best;
}

ReadConditions conditions_of(const RecordTable& table) {
  ReadConditions read;
  const auto raise = [](std::optional<double>& highest, const std::optional<double>& value) {
    if (value && *value > highest.value_or(*value - 1)) highest = value;
  };
  for (const ResultRecord& row : table.rows) {
    const auto low = row.sm_clock_min_mhz ? row.sm_clock_min_mhz : row.sm_clock_mhz;
    if (low && *low < read.lowest_sm_clock_mhz.value_or(*low + 1)) read.lowest_sm_clock_mhz = low;
    raise(read.highest_sm_clock_mhz,
          row.sm_clock_max_mhz ? row.sm_clock_max_mhz : row.sm_clock_mhz);
    raise(read.highest_power_w, row.power_w);
    raise(read.highest_temperature_c, row.temperature_c);
  }
  return read;
}

std::size_t passed_rows(const ExperimentResults& e) {
  return static_cast<std::size_t>(std::count_if(
      e.rows.begin(), e.rows.end(), [](const ResultRecord& row) { return row.passed(); }));
}

}  // namespace gpuexp
