// Counts per instruction, by CUPTI's SASS metrics.
#pragma once

#include <memory>
#include <vector>

#include "family/source_counts.hpp"

namespace gpuexp {

/// Counts each instruction of the first kernel that is launched after construction on the current
/// device, in its primary context. CUPTI patches the kernel's code, so its times are meaningless.
class SourceCounters {
 public:
  /// Loads CUPTI and activates counting, which the driver may refuse. A process can create only one
  /// object, for one kernel: CUPTI 13.0 counts no second kernel, even after disabling or reading,
  /// and accepts no second configuration. Throws CountersUnavailable.
  SourceCounters();
  ~SourceCounters();
  SourceCounters(const SourceCounters&) = delete;
  SourceCounters& operator=(const SourceCounters&) = delete;

  /// Counts over all completed launches of the kernel. Can be called only once; nothing is counted
  /// afterwards. Throws DeviceError.
  std::vector<CountedInstruction> read();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuexp
