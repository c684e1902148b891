// When a step of a launch ran, or is likely to.
#pragma once

#include <optional>
#include <string>

namespace gpuexp {

/// In µs from the launch's start.
struct StepTime {
  /// A kernel's name or "kernel", "copy_to_device", "copy_to_host", "copy", "other"; "call" of the
  /// host.
  std::string what;
  int stream = 0;       ///< Step::stream
  double begin_us = 0;  ///< from when its stream could begin it
  double end_us = 0;
  std::optional<int> rank = {};  ///< of a problem that spans GPUs

  bool operator==(const StepTime&) const = default;
};

}  // namespace gpuexp
