// The state of one GPU: how it is set up, what has gone wrong with it, how it ran.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpuexp {

/// What the driver said while ceilings were measured, of all rows that it said something of.
struct LoadReadings {
  /// Median of the clock that rows held, without those in which power was at its limit.
  std::optional<double> sm_clock_mhz;
  std::optional<double> memory_clock_mhz;  ///< median of the rows' lowest
  std::optional<double> temperature_c;     ///< highest
  std::optional<double> power_w;           ///< highest mean of a row
  /// Rows by what kept their clocks down, by the names of device/telemetry.hpp.
  std::map<std::string, int> clock_reasons;
  int rows = 0;

  bool operator==(const LoadReadings&) const = default;
};

/// What the driver says at one moment. Empty: it does not know, or the GPU has no such thing.
struct DeviceState {
  bool is_mig_instance = false;  ///< CUDA sees a part of the GPU
  std::optional<bool> mig_on;

  std::optional<bool> ecc_on;
  std::optional<bool> ecc_on_next;  ///< after the next reset
  std::optional<bool> ecc_on_by_default;
  std::optional<std::uint64_t> uncorrected_errors;           ///< since the driver was loaded
  std::optional<std::uint64_t> uncorrected_errors_lifetime;  ///< of the board
  std::optional<bool> row_remap_failed;  ///< once in the board's life (since Ampere)
  std::optional<bool> row_remap_pending;
  std::optional<bool> page_retirement_pending;  ///< before Ampere

  std::optional<double> power_w;
  std::optional<double> power_limit_w;  ///< the lowest of all that are in force
  std::optional<double> power_limit_default_w;
  std::optional<double> temperature_c;
  std::optional<double> slowdown_margin_c;  ///< to the temperature that lowers clocks

  std::optional<double> sm_clock_mhz;
  std::optional<double> sm_clock_max_mhz;
  std::optional<double> sm_clock_max_boost_mhz;  ///< that a user may set
  std::optional<double> sm_clock_set_mhz;        ///< applications clock
  std::optional<double> sm_clock_set_by_default_mhz;
  std::optional<double> memory_clock_mhz;
  std::optional<double> memory_clock_max_mhz;
  std::optional<int> performance_state;  ///< 0 is the fastest
  /// By NVML's names in lower case; those that mean no harm too: gpu_idle,
  /// applications_clocks_setting, sync_boost, display_clock_setting.
  std::optional<std::vector<std::string>> clock_reasons;

  std::optional<int> pcie_generation;
  std::optional<int> pcie_generation_max;      ///< of GPU and slot together
  std::optional<int> pcie_generation_gpu_max;  ///< of the GPU alone
  std::optional<int> pcie_width;
  std::optional<int> pcie_width_max;  ///< of GPU and slot together

  std::optional<bool> persistence_on;
  std::optional<std::string> compute_mode;    ///< default, exclusive_process, prohibited
  std::optional<int> processes;               ///< with a context on the GPU, graphics too
  std::optional<std::int64_t> process_bytes;  ///< device memory of those that NVML knows it of

  std::optional<LoadReadings> load;  ///< empty where nothing was measured

  bool operator==(const DeviceState&) const = default;
};

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
