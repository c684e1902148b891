// The time limit of a simulated launch.
#pragma once

#include <limits>
#include <string>

#include "sim/fault.hpp"

namespace gpuexp {

class LaunchDeadline {
 public:
  /// Without a start, no launch is late.
  LaunchDeadline() = default;
  /// A launch starts now, and is late after `limit_s` seconds.
  explicit LaunchDeadline(double limit_s);

  /// Whether the elapsed time and this process's processor time exceed the limit: a simulation that
  /// waits for processors, because other processes use them, is not an endless loop.
  bool is_late() const;
  /// Why the launch was stopped, for messages: limit, option and source line.
  std::string text(const sim::Stopped& stopped) const;

 private:
  double limit_s_ = std::numeric_limits<double>::infinity();
  double started_s_ = 0;
  double started_processor_s_ = 0;
};

}  // namespace gpuexp
