#include "analysis/load_readings.hpp"

#include <algorithm>
#include <utility>

#include "stats/statistics.hpp"

namespace gpuexp {

LoadReadings load_readings(const RecordTable& rows) {
  constexpr const char* kPowerCap = "sw_power_cap";
  LoadReadings load;
  std::vector<double> sm_clocks;
  std::vector<double> memory_clocks;
  for (const ResultRecord& row : rows.rows) {
    if (!row.passed() || !row.nvml_sm_clock_mhz) continue;
    ++load.rows;
    const std::vector<std::string>& reasons = row.clock_reasons;
    for (const std::string& reason : reasons)
      ++load.clock_reasons[reason];
    const auto sm_clock = row.sm_clock_mhz;
    if (sm_clock && std::count(reasons.begin(), reasons.end(), kPowerCap) == 0)
      sm_clocks.push_back(*sm_clock);
    if (const auto memory_clock = row.memory_clock_mhz) memory_clocks.push_back(*memory_clock);
    load.temperature_c = std::max(load.temperature_c, row.temperature_c);
    load.power_w = std::max(load.power_w, row.power_w);
  }
  load.sm_clock_mhz = median_of(std::move(sm_clocks));
  load.memory_clock_mhz = median_of(std::move(memory_clocks));
  return load;
}

}  // namespace gpuexp
