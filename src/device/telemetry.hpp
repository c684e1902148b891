// What the driver says of the device over a stretch of time.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace gpuexp {

struct Telemetry {
  std::optional<double> sm_clock_mhz;      ///< mean, as the driver reports it
  std::optional<double> memory_clock_mhz;  ///< lowest
  std::optional<double> power_w;           ///< mean
  std::optional<double> power_limit_w;     ///< in force
  std::optional<double> temperature_c;     ///< highest
  /// Why clocks were below what the device is set to, by NVML's names in lower case: sw_power_cap,
  /// hw_slowdown, sw_thermal_slowdown, hw_thermal_slowdown, hw_power_brake_slowdown. An idle GPU
  /// and clocks that somebody has set are no reasons.
  std::vector<std::string> clock_reasons;
};

}  // namespace gpuexp
