// Waits in the queues of DRAM, which the requests of all SMs share.
#pragma once

#include <algorithm>

namespace gpuexp {

/// A queue with random arrivals and a constant service time (M/D/1): the mean wait is
/// service·ρ / (2·(1 - ρ)), with the utilization ρ. On an H200, loads of warps that wait for each
/// load take such times up to a utilization of 0.5 (docs/prediction.md, "Queues in front of DRAM").
class DramQueue {
 public:
  /// Mean wait in cycles of a request at `now`. `busy`: cycles in which DRAM was busy before, which
  /// must not decrease from call to call. `service`: service time in cycles.
  double wait(double now, double busy, double service) {
    if (now - latest_.begin > kWindow) {
      before_ = latest_;
      latest_ = {now, busy};
    }
    const double utilization = (busy - before_.busy) / std::max(kWindow, now - before_.begin);
    const double used = std::clamp(utilization, 0.0, kMaxUtilization);
    return service * used / (2 * (1 - used));
  }

 private:
  /// The utilization is that of one to two windows: about two to four microseconds.
  static constexpr double kWindow = 4096;
  /// Beyond, DRAM's rate limits a kernel, and memory_path.cpp lets requests wait for their turn. If
  /// all threads of full SMs load 16 bytes, DRAM reaches nearly its whole rate, so the wait does not
  /// increase further.
  static constexpr double kMaxUtilization = 0.85;

  struct Window {
    double begin = 0;
    double busy = 0;
  };
  Window before_;
  Window latest_;
};

}  // namespace gpuexp
