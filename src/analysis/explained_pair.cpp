#include "analysis/explained_pair.hpp"

#include <algorithm>
#include <cmath>

#include "family/counters.hpp"
#include "results/reference_rows.hpp"

namespace gpuexp {

std::string_view name_of(Cause cause) {
  switch (cause) {
    case Cause::unknown: return "unknown";
    case Cause::amounts: return "amounts";
    case Cause::idle_sms: return "idle_sms";
    case Cause::launches: return "launches";
    case Cause::atomics: return "atomics";
    case Cause::host: return "host";
    case Cause::latency: return "latency";
  }
  return "";
}

std::string_view name_of(Confidence confidence) {
  switch (confidence) {
    case Confidence::none: return "none";
    case Confidence::low: return "low";
    case Confidence::medium: return "medium";
    case Confidence::high: return "high";
  }
  return "";
}

bool is_effect(std::string_view counter) {
  if (counter.starts_with(kMetricMark)) return true;
  const Counter* found = find_counter(counter);
  return counter.ends_with("_active_pct") || (found && found->group == "occupancy");
}

double factor_between(double a, double b) {
  return std::max(a / b, b / a);
}

double waited_us(const Bound& bound, const InFlight& in_flight) {
  const double needed_us = bound.times.needed_us();
  return bound.longest->resource == Resource::dram ? std::hypot(needed_us, in_flight.least_us)
                                                   : std::max(needed_us, in_flight.least_us);
}

bool is_predicted_well(const ResultRecord& row) {
  constexpr double kWell = 1.33;
  const auto predicted_us = row.predicted_time_us;
  return predicted_us && factor_between(*predicted_us, *row.time_us()) <= kWell;
}

std::optional<double> warps_in_flight(const ResultRecord& row) {
  constexpr double kWhole = 100;
  const auto warps = count_of(row, "active_warps_per_sm");
  const auto balance_pct = count_of(row, "sm_balance_pct");
  return warps && balance_pct ? std::optional(*warps * *balance_pct / kWhole) : std::nullopt;
}

double share_of_factor(double factor, double measured) {
  return std::log(factor) / std::log(measured);
}

bool exceeds(double factor, double measured) {
  constexpr double kMaxShare = 2.0;
  constexpr double kAccuracy = 1.03;
  return share_of_factor(factor, measured) > kMaxShare &&
         factor_between(factor, measured) > kAccuracy;
}

bool Explanation::is_over_accounted() const {
  return accounted && exceeds(*accounted, factor);
}

std::vector<RowPair> pairs_of(
    const ExperimentResults& experiment, bool all_problems,
    const std::function<std::optional<double>(const ResultRecord&)>& time_of) {
  constexpr double kClearlyLonger = 1.005;
  const ReferenceRows references(experiment,
                                 [&](const ResultRecord& row) { return time_of(row).has_value(); });
  const auto slower_us = [&](const RowPair& pair) {
    return std::max(*time_of(pair.reference()), *time_of(pair.row()));
  };
  std::vector<RowPair> pairs;
  for (const ResultRecord& row : experiment.rows) {
    if (row.compare_to.empty() || !time_of(row)) continue;
    const ResultRecord* const reference = references.find(row.compare_to, row);
    if (!reference) continue;
    const RowPair pair(*reference, row);
    const auto same = std::ranges::find_if(pairs, [&](const RowPair& other) {
      return !all_problems && other.row().variant == row.variant;
    });
    if (same == pairs.end()) {
      pairs.push_back(pair);
    } else if (slower_us(pair) > kClearlyLonger * slower_us(*same)) {
      *same = pair;
    }
  }
  return pairs;
}

}  // namespace gpuexp
