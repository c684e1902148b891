// Hardware counts of kernels, read in this process with CUPTI's range profiler.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "family/counters.hpp"

namespace gpuexp {

/// Hardware counters of the current device, in its primary context.
class HardwareCounters {
 public:
  /// Loads CUPTI and checks once that the driver permits counters. Throws CountersUnavailable.
  HardwareCounters();
  ~HardwareCounters();
  HardwareCounters(HardwareCounters&&) noexcept;
  HardwareCounters& operator=(HardwareCounters&&) noexcept;

  /// The metrics that this chip does not have.
  std::vector<std::string> unknown(const std::vector<std::string>& metrics);

  /// A launch, and the preparation of memory and caches before it. Both functions return after the
  /// GPU has completed their work.
  struct Launch {
    std::function<void()> prepare;
    std::function<void()> launch;
    bool as_one = false;  ///< count all kernels together, for kernels that overlap
  };
  /// Counts the kernels of each launch. A GPU has few counters, so several passes are necessary.
  /// Starting and ending a pass takes the driver 12 ms on an H200, so launches that share passes
  /// cost a ninth (20 rows: 8.9 ms each instead of 80.5). The profiler stays active until
  /// release(). Throws DeviceError.
  std::vector<LaunchCounts> count(const std::vector<std::string>& metrics,
                                  const std::vector<Launch>& launches);

  /// Deactivates the profiler.
  void release();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuexp
