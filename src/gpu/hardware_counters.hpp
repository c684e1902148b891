// Hardware counts of kernels, by CUPTI's range profiler in this process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "family/counters.hpp"

namespace gpuexp {

class HardwareCounters {
 public:
  /// Loads CUPTI and checks that the driver permits counters. Throws CountersUnavailable if either
  /// fails.
  HardwareCounters();
  ~HardwareCounters();
  HardwareCounters(HardwareCounters&&) noexcept;
  HardwareCounters& operator=(HardwareCounters&&) noexcept;

  /// The metrics that this chip does not have.
  std::vector<std::string> unknown(const std::vector<std::string>& metrics);

  /// A launch, and the preparation of memory and caches before it. Both functions must wait for the
  /// GPU to complete their work.
  struct Launch {
    std::function<void()> prepare;
    std::function<void()> launch;
    bool as_one = false;  ///< count all kernels in one range, for example because they overlap
  };
  /// Counts the kernels of each launch, in several passes because a GPU has few counters. Starting
  /// and ending a pass takes the driver 12 ms on an H200, so 20 launches that share passes take 8.9
  /// ms each instead of 80.5 ms. The profiler stays active until release(). Throws DeviceError.
  std::vector<LaunchCounts> count(const std::vector<std::string>& metrics,
                                  const std::vector<Launch>& launches);

  void release();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuexp
