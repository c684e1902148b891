#pragma once

#include <chrono>
#include <string>

#include "gpu/resources.hpp"
#include "gpu/stream_gate.hpp"

namespace gpuexp {

class EventTimer {
 public:
  /// `gated`: whether the stream may be blocked until the timed work is enqueued, if the driver
  /// supports it.
  explicit EventTimer(bool gated) : gate_(gated) {}

  bool can_gate() const { return gate_.available(); }

  /// Microseconds between two events on `stream` around the work that `queue` enqueues; error
  /// messages call the work `what`. `gated` requires can_gate() and blocks the stream until the
  /// work and both events are enqueued. Throws CudaError, and DeviceError if `queue` waited for the
  /// blocked stream.
  template <class Queue>
  double time_us(const CudaStream& stream, bool gated, const std::string& what,
                 const Queue& queue) {
    return time_us(stream, gated, what, queue, [] {});
  }
  /// `before` enqueues untimed work, which runs after the gate opens and before the first event.
  template <class Queue, class Before>
  double time_us(const CudaStream& stream, bool gated, const std::string& what, const Queue& queue,
                 const Before& before) {
    if (gated) gate_.close(stream);
    try {
      before();
      start_.record(stream);
      queue();
      stop_.record(stream);
    } catch (...) {
      if (gated) gate_.open();
      throw;
    }
    const bool in_time = !gated || gate_.open();
    stop_.synchronize();
    if (!in_time) {
      throw DeviceError("the launch of " + what +
                            " waited for the GPU, whose stream was blocked until the launch was "
                            "enqueued; declare Timing::ungated for such a variant, or use "
                            "--no-gate, which never blocks the stream",
                        DeviceFault::refused);
    }
    return elapsed_us(start_, stop_);
  }

 private:
  CudaEvent start_;
  CudaEvent stop_;
  StreamGate gate_;
};

/// Wall-clock microseconds from the call of `queue`, which enqueues work on the idle stream, until
/// the GPU has completed this work.
template <class Queue>
double host_clock_us(const CudaStream& stream, const Queue& queue) {
  stream.synchronize();
  const auto start = std::chrono::steady_clock::now();
  queue();
  stream.synchronize();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

/// Creates 15 streams and returns the one with the median time of an empty kernel; without a gate,
/// creates one stream. The time between two events around a kernel is a constant of the stream's
/// hardware queue: 2.66 to 3.01 µs on an H200, mostly among the shortest for a process's first
/// stream (docs/measuring.md). Two runs on arbitrary streams would differ by this much.
CudaStream typical_stream(EventTimer& timer);

}  // namespace gpuexp
