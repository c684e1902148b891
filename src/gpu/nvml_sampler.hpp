#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "device/device_state.hpp"

namespace gpuexp {

/// Reads clocks, power, temperature and clock reasons in a background thread.
class NvmlSampler {
 public:
  static constexpr std::chrono::milliseconds kPeriod{50};

  /// Samples the GPU with this UUID ("GPU-…"), or the GPU that contains this MIG instance. Reads
  /// nothing if NVML or the GPU is missing.
  explicit NvmlSampler(const std::string& uuid);
  ~NvmlSampler();
  NvmlSampler(const NvmlSampler&) = delete;
  NvmlSampler& operator=(const NvmlSampler&) = delete;

  /// Telemetry between two times of std::chrono::steady_clock, in seconds; empty if no reading lies
  /// between them.
  Telemetry between(double from_s, double to_s) const;

 private:
  struct Reading {
    double at_s;
    std::optional<double> sm_clock_mhz;
    std::optional<double> memory_clock_mhz;
    std::optional<double> power_w;
    std::optional<double> power_limit_w;
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
