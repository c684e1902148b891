// What the driver says of a GPU while it runs.
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

/// Reads clocks, power, temperature and the reasons for lower clocks every so often, in a thread of
/// its own.
class NvmlSampler {
 public:
  static constexpr std::chrono::milliseconds kPeriod{50};

  /// Of the GPU, or of the one that the MIG instance is part of, with this UUID ("GPU-…"). Without
  /// NVML, or such a GPU, it never reads anything.
  explicit NvmlSampler(const std::string& uuid);
  ~NvmlSampler();
  NvmlSampler(const NvmlSampler&) = delete;
  NvmlSampler& operator=(const NvmlSampler&) = delete;

  /// What was read between two moments of std::chrono::steady_clock, in its seconds. Empty when
  /// nothing was: a reading before them is of another load.
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
