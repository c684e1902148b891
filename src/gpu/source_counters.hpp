// What the GPU counts at each instruction, by CUPTI's SASS metrics.
#pragma once

#include <memory>
#include <vector>

#include "family/source_counts.hpp"

namespace gpuexp {

/// Counts, instruction by instruction, the kernel that is launched first after construction on the
/// current device, in its primary context. CUPTI patches the kernel's code: its times mean nothing
/// meanwhile.
class SourceCounters {
 public:
  /// Loads CUPTI, and asks the driver for counters, which it may refuse. A process makes one of
  /// these, for one kernel: CUPTI 13.0 counts no second one, whether or not it was disabled or read
  /// in between, and takes no second configuration. Throws CountersUnavailable.
  SourceCounters();
  ~SourceCounters();
  SourceCounters(const SourceCounters&) = delete;
  SourceCounters& operator=(const SourceCounters&) = delete;

  /// Of all launches of the kernel, which the GPU has done. Asked once: nothing is counted after
  /// it. Throws DeviceError.
  std::vector<CountedInstruction> read();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuexp
