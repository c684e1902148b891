// The clock that durations are measured with.
#pragma once

#include <chrono>

namespace gpuexp {

/// Seconds of std::chrono::steady_clock.
inline double steady_seconds() {
  using std::chrono::duration;
  using std::chrono::steady_clock;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace gpuexp
