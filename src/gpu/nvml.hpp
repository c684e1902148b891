// NVML, the driver's management library, loaded when first needed; read-only use. It is no part of
// CUDA: what uses it needs no context.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/telemetry.hpp"

namespace gpuexp {

/// What NVML says of one GPU at this moment; empty where it does not know or is not there.
struct NvmlReadings {
  std::optional<std::string> driver_version;
  std::optional<unsigned> sm_clock_mhz;
  std::optional<unsigned> sm_clock_max_mhz;
  std::optional<unsigned> memory_clock_mhz;
  std::optional<double> power_w;
  std::optional<double> power_limit_w;
  std::optional<unsigned> temperature_c;
  std::optional<bool> ecc_enabled;
};

/// Readings of the GPU with this UUID ("GPU-…"). Never throws: a machine without NVML gives empty
/// readings.
NvmlReadings read_nvml(const std::string& uuid) noexcept;

/// Reads clocks, power, temperature and the reasons for lower clocks every so often, in a thread of
/// its own.
class NvmlSampler {
 public:
  static constexpr std::chrono::milliseconds kPeriod{50};

  /// Without NVML, or a GPU of this UUID, it never reads anything.
  explicit NvmlSampler(const std::string& uuid);
  ~NvmlSampler();
  NvmlSampler(const NvmlSampler&) = delete;
  NvmlSampler& operator=(const NvmlSampler&) = delete;

  /// What was read between two moments of std::chrono::steady_clock, in its seconds; where nothing
  /// was, the reading before them. Empty when there is none.
  Telemetry between(double from_s, double to_s) const;

 private:
  struct Reading {
    double at_s;
    std::optional<double> sm_clock_mhz;
    std::optional<double> memory_clock_mhz;
    std::optional<double> power_w;
    std::optional<double> temperature_c;
    unsigned long long reasons;
  };

  void read_until(const std::stop_token& stop, const std::string& uuid);

  mutable std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::vector<Reading> readings_;
  std::jthread thread_;
};

}  // namespace gpuexp
