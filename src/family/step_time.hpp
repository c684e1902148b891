// When a step of a launch ran, or is likely to.
#pragma once

#include <string>

namespace gpuexp {

/// In µs from the launch's start.
struct StepTime {
  std::string what;     ///< "kernel", "copy_to_device", "copy_to_host", "copy", "other"; "call" of the host
  int stream = 0;       ///< Step::stream
  double begin_us = 0;  ///< from when its stream could begin it
  double end_us = 0;

  bool operator==(const StepTime&) const = default;
};

}  // namespace gpuexp
