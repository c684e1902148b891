#include "analysis/load_readings.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "results/results.hpp"
#include "stats/statistics.hpp"

namespace gpuexp {

namespace {

std::optional<double> median_of(std::vector<double> values) {
  constexpr double kHalf = 0.5;
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  return quantile(values, kHalf);
}

}  // namespace

LoadReadings load_readings(const Table& rows) {
  constexpr const char* kPowerCap = "sw_power_cap";
  const ResultTable table(rows);
  LoadReadings load;
  std::vector<double> sm_clocks;
  std::vector<double> memory_clocks;
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    const ResultRow row(table, i);
    if (!row.passed() || !row.number("nvml_sm_clock_mhz")) continue;
    ++load.rows;
    const std::vector<std::string> reasons = split(row.text("clock_reasons"), ';');
    for (const std::string& reason : reasons)
      ++load.clock_reasons[reason];
    const auto sm_clock = row.number("sm_clock_mhz");
    if (sm_clock && std::count(reasons.begin(), reasons.end(), kPowerCap) == 0)
      sm_clocks.push_back(*sm_clock);
    if (const auto memory_clock = row.number("memory_clock_mhz"))
      memory_clocks.push_back(*memory_clock);
    load.temperature_c = std::max(load.temperature_c, row.number("temperature_c"));
    load.power_w = std::max(load.power_w, row.number("power_w"));
  }
  load.sm_clock_mhz = median_of(std::move(sm_clocks));
  load.memory_clock_mhz = median_of(std::move(memory_clocks));
  return load;
}

}  // namespace gpuexp
