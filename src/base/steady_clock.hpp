// The clock for durations.
#pragma once

#include <chrono>

namespace gpuexp {

inline double steady_seconds() {
  using std::chrono::duration;
  using std::chrono::steady_clock;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace gpuexp
