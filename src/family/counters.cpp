#include "family/counters.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace gpuexp {

namespace {

SelectedCounter selected(const Counter& c) {
  return {std::string(c.id),        std::string(c.unit),        std::string(c.doc),
          std::string(c.numerator), std::string(c.denominator), c.scale};
}

std::optional<double> sum_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// Combines a metric's values of a launch's kernels; empty if they cannot be combined.
std::optional<double> combined(const std::string& metric, const std::vector<double>& values) {
  if (values.size() == 1) return values.front();
  if (values.empty()) return std::nullopt;
  if (metric.ends_with(".max")) return *std::max_element(values.begin(), values.end());
  if (metric.ends_with(".min")) return *std::min_element(values.begin(), values.end());
  return metric.ends_with(".sum") ? sum_of(values) : std::nullopt;
}

std::vector<double> values_of(const std::string& metric, const LaunchCounts& counts,
                              std::optional<std::size_t> kernel) {
  const auto found = std::find(counts.metrics.begin(), counts.metrics.end(), metric);
  if (found == counts.metrics.end()) return {};
  const auto place = static_cast<std::size_t>(found - counts.metrics.begin());
  std::vector<double> values;
  for (std::size_t i = 0; i < counts.kernels.size(); ++i) {
    if (!kernel || *kernel == i) values.push_back(counts.kernels[i].values.at(place));
  }
  return values;
}

}  // namespace

std::vector<std::string> counter_groups() {
  std::vector<std::string> groups;
  for (const Counter& counter : kCounters) {
    if (groups.empty() || groups.back() != counter.group) groups.emplace_back(counter.group);
  }
  return groups;
}

std::vector<std::string> counter_names() {
  std::vector<std::string> names{kAllCounters, kNoCounters};
  for (const std::string& group : counter_groups())
    names.push_back(group);
  for (const Counter& counter : kCounters)
    names.emplace_back(counter.id);
  return names;
}

const Counter* find_counter(std::string_view id) {
  const auto found = std::find_if(kCounters.begin(), kCounters.end(),
                                  [&](const Counter& counter) { return counter.id == id; });
  return found == kCounters.end() ? nullptr : &*found;
}

bool is_nsight_metric(std::string_view name) {
  const std::size_t underscores = name.find("__");
  return underscores != std::string_view::npos && underscores > 0 &&
         name.find('.', underscores) != std::string_view::npos;
}

std::vector<SelectedCounter> select_counters(const std::vector<std::string>& names) {
  const std::set<std::string_view> wanted(names.begin(), names.end());
  std::vector<SelectedCounter> counters;
  for (const Counter& counter : kCounters) {
    if (wanted.count(kAllCounters) || wanted.count(counter.group) || wanted.count(counter.id))
      counters.push_back(selected(counter));
  }
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (is_nsight_metric(name) && seen.insert(name).second)
      counters.push_back({name, "", "Nsight Compute metric", name, "", 1});
  }
  return counters;
}

std::vector<std::string> metrics_of(const std::vector<SelectedCounter>& counters) {
  std::vector<std::string> metrics;
  std::set<std::string> seen;
  for (const SelectedCounter& counter : counters) {
    for (const std::string& metric : {counter.numerator, counter.denominator}) {
      if (!metric.empty() && seen.insert(metric).second) metrics.push_back(metric);
    }
  }
  return metrics;
}

std::optional<double> counted(const SelectedCounter& counter, const LaunchCounts& counts,
                              std::optional<std::size_t> kernel) {
  const std::vector<double> above = values_of(counter.numerator, counts, kernel);
  if (counter.denominator.empty()) {
    const auto value = combined(counter.numerator, above);
    return value && std::isfinite(*value) ? std::optional(counter.scale * *value) : std::nullopt;
  }
  const auto numerator = sum_of(above);
  const auto denominator = sum_of(values_of(counter.denominator, counts, kernel));
  if (!numerator || !std::isfinite(*numerator) || !denominator || !(*denominator > 0))
    return std::nullopt;
  return counter.scale * *numerator / *denominator;
}

}  // namespace gpuexp
