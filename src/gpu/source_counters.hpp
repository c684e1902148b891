#pragma once

#include <memory>
#include <vector>

#include "family/source_counts.hpp"

namespace gpuexp {

/// Counts the executions of each instruction of one kernel: the first that is launched on the
/// current device, in its primary context, after construction. CUPTI patches the kernel's code, so
/// times are not meaningful.
class SourceCounters {
 public:
  /// Loads CUPTI and activates counting, which the driver may refuse. A process can create only one
  /// object: CUPTI 13.0 counts no second kernel, even after disabling or reading, and accepts no
  /// second configuration. Throws CountersUnavailable.
  SourceCounters();
  ~SourceCounters();
  SourceCounters(const SourceCounters&) = delete;
  SourceCounters& operator=(const SourceCounters&) = delete;

  /// Counts over all completed launches of the kernel; ends counting. Can be called only once.
  /// Throws DeviceError.
  std::vector<CountedInstruction> read();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuexp
