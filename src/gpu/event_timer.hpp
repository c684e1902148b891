// Times what is queued on a stream, between two events.
#pragma once

#include <string>

#include "gpu/resources.hpp"
#include "gpu/stream_gate.hpp"

namespace gpuexp {

class EventTimer {
 public:
  /// `gated`: the GPU may be held until what is timed is queued, where the driver can do so.
  explicit EventTimer(bool gated) : gate_(gated) {}

  bool can_gate() const { return gate_.available(); }

  /// Microseconds between two events on `stream` around what `queue` queues there; `what` names it.
  /// With `gated`, which needs can_gate(), the GPU starts only when all three are queued. Throws
  /// CudaError, and DeviceError where `queue` waited for the GPU behind the gate.
  template <class Queue>
  double time_us(const CudaStream& stream, bool gated, const std::string& what,
                 const Queue& queue) {
    return time_us(stream, gated, what, queue, [] {});
  }
  /// `before` queues what runs behind the gate and is not timed.
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

/// A stream on which an empty kernel takes neither particularly long nor short: the median of 15.
/// Each stream has a hardware queue of its own, and the time from one event over a kernel to the
/// next is a constant of the queue: on an H200 from 2.66 to 3.01 µs, the first of a process mostly
/// among the shortest (docs/measuring.md). On the first stream that comes, two runs of one binary
/// would differ by as much in every launch. Without a gate, any stream.
CudaStream typical_stream(EventTimer& timer);

}  // namespace gpuexp
