#include "analysis/report_summary.hpp"

#include <algorithm>
#include <functional>

namespace gpuexp {

namespace {

using NamedCounts = std::vector<std::pair<std::string, std::size_t>>;

void count_name(NamedCounts& counts, const std::string& name) {
  const auto found = std::ranges::find_if(counts, [&](const auto& c) { return c.first == name; });
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
  std::ranges::stable_sort(counts, std::greater<>(), &NamedCounts::value_type::second);
  return counts;
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
  }
  return read;
}

}  // namespace gpuexp
