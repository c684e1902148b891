// What the GPU counts while a kernel runs, read in this process with CUPTI's range profiler.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "family/counters.hpp"

namespace gpuexp {

/// The counters of the current device, in its primary context.
class HardwareCounters {
 public:
  /// Loads CUPTI, and asks the driver for counters once, which it may refuse. Throws
  /// CountersUnavailable.
  HardwareCounters();
  ~HardwareCounters();
  HardwareCounters(HardwareCounters&&) noexcept;
  HardwareCounters& operator=(HardwareCounters&&) noexcept;

  /// Those of the metrics that this chip does not have.
  std::vector<std::string> unknown(const std::vector<std::string>& metrics);

  /// A launch, and what leaves memory and caches as it is to find them. Both return when the GPU
  /// has done what they asked for.
  struct Launch {
    std::function<void()> prepare;
    std::function<void()> launch;
    bool as_one = false;  ///< its kernels are counted together, as those that run side by side
  };
  /// Counts the kernels of each launch. A GPU counts few things at a time, so there are several
  /// passes, and a pass takes the driver 12 ms to begin and end on an H200: launches that share
  /// their passes cost a ninth (20 rows: 8.9 ms each instead of 80.5). The profiler stays in force
  /// until release(). Throws DeviceError.
  std::vector<LaunchCounts> count(const std::vector<std::string>& metrics,
                                  const std::vector<Launch>& launches);

  /// Launches are as they were before the first count().
  void release();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuexp
