// Measured or predicted time of a launch's step.
#pragma once

#include <optional>
#include <string>

namespace gpuexp {

/// Times are in µs from the start of the launch.
struct StepTime {
  /// A kernel's name, or "kernel", "copy_to_device", "copy_to_host", "copy", "other", or "call" for
  /// the host's call that enqueues a step.
  std::string what;
  int stream = 0;
  double begin_us = 0;  ///< time at which its stream could start the step
  double end_us = 0;
  std::optional<int> rank = {};  ///< for problems that span GPUs

  bool operator==(const StepTime&) const = default;
};

}  // namespace gpuexp
