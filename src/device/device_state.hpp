// Settings, errors, clocks, power and temperature of one GPU.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpuexp {

/// Readings of the driver while ceilings were measured, over all rows with readings.
struct LoadReadings {
  /// Median over the rows, without rows at the power limit.
  std::optional<double> sm_clock_mhz;
  std::optional<double> memory_clock_mhz;  ///< median of the rows' minima
  std::optional<double> temperature_c;     ///< maximum
  std::optional<double> power_w;           ///< maximum of the rows' means
  /// Number of rows for each reason for lowered clocks; names as in Telemetry::clock_reasons.
  std::map<std::string, int> clock_reasons;
  int rows = 0;

  bool operator==(const LoadReadings&) const = default;
};

/// Readings of the driver at one moment. Empty values are unknown or do not exist on this GPU.
struct DeviceState {
  bool is_mig_instance = false;  ///< CUDA uses a part of the GPU
  std::optional<bool> mig_on;

  std::optional<bool> ecc_on;
  std::optional<bool> ecc_on_next;  ///< after the next reset
  std::optional<bool> ecc_on_by_default;
  std::optional<std::uint64_t> uncorrected_errors;           ///< since the driver was loaded
  std::optional<std::uint64_t> uncorrected_errors_lifetime;  ///< over the life of the board
  std::optional<bool> row_remap_failed;  ///< at least once in the board's life (since Ampere)
  std::optional<bool> row_remap_pending;
  std::optional<bool> page_retirement_pending;  ///< before Ampere

  std::optional<double> power_w;
  std::optional<double> power_limit_w;  ///< the lowest limit in force
  std::optional<double> power_limit_default_w;
  std::optional<double> temperature_c;
  std::optional<double> slowdown_margin_c;  ///< distance to the temperature that lowers clocks

  std::optional<double> sm_clock_mhz;
  std::optional<double> sm_clock_max_mhz;
  std::optional<double> sm_clock_max_boost_mhz;  ///< maximum clock that a user may set
  std::optional<double> sm_clock_set_mhz;        ///< applications clock
  std::optional<double> sm_clock_set_by_default_mhz;
  std::optional<double> memory_clock_mhz;
  std::optional<double> memory_clock_max_mhz;
  std::optional<int> performance_state;  ///< 0 is the fastest
  /// Reasons for the current clocks: NVML's names in lower case, including the harmless gpu_idle,
  /// applications_clocks_setting, sync_boost and display_clock_setting.
  std::optional<std::vector<std::string>> clock_reasons;

  std::optional<int> pcie_generation;
  std::optional<int> pcie_generation_max;      ///< for GPU and slot together
  std::optional<int> pcie_generation_gpu_max;  ///< for the GPU only
  std::optional<int> pcie_width;
  std::optional<int> pcie_width_max;  ///< for GPU and slot together

  std::optional<bool> persistence_on;
  std::optional<std::string> compute_mode;  ///< default, exclusive_process, prohibited
  std::optional<int> processes;  ///< processes with a context on the GPU, including graphics
  std::optional<std::int64_t> process_bytes;  ///< device memory of `processes`, if reported

  std::optional<LoadReadings> load;  ///< empty if nothing was measured

  bool operator==(const DeviceState&) const = default;
};

struct Telemetry {
  std::optional<double> sm_clock_mhz;      ///< mean over time, from the driver
  std::optional<double> memory_clock_mhz;  ///< minimum
  std::optional<double> power_w;           ///< mean
  std::optional<double> power_limit_w;     ///< in force
  std::optional<double> temperature_c;     ///< maximum
  /// Reasons for clocks below the device's setting: NVML's names in lower case, sw_power_cap,
  /// hw_slowdown, sw_thermal_slowdown, hw_thermal_slowdown, hw_power_brake_slowdown. Idleness and
  /// clocks set by a user are excluded.
  std::vector<std::string> clock_reasons;
};

}  // namespace gpuexp
