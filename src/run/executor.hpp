// The interface between the runner and a device. Timing and counting are separate interfaces,
// because an executor may be able to launch kernels without being able to time or count them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/mode.hpp"
#include "device/device_error.hpp"
#include "family/counters.hpp"
#include "family/family.hpp"
#include "family/source_counts.hpp"
#include "record/measurement.hpp"
#include "run/rank_exchange.hpp"

namespace gpuexp {

/// Called after each sample with the sample's position in the requested sequence.
using SampleTaken = std::function<void(std::size_t place, const Sample&)>;

/// Untimed launches: at most `launches`, and no further launch after `seconds`.
struct WarmUp {
  std::size_t launches = 1;
  double seconds = 0;  ///< the first launch always runs
};

/// Times launches of the problem that the executor has set up.
class LaunchTimer {
 public:
  virtual ~LaunchTimer() = default;

  /// Runs untimed launches, so that lazy initialization precedes the first sample.
  virtual SampleTraits warm_up(const Variant& variant, Mode mode, const WarmUp& limits) = 0;

  /// Takes one timed sample of each variant in the sequence. All variants must be warmed up.
  virtual void sample(const std::vector<const Variant*>& sequence, Mode mode,
                      const SampleTaken& taken) = 0;

  /// Times the variant's first launches in the process, each from before its preparation until the
  /// GPU has completed it. The executor must have been restarted (restart()) and must not have
  /// launched anything since.
  virtual SampleTraits sample_from_first(const Variant& variant, Mode mode, int launches,
                                         const SampleTaken& taken) = 0;

  /// Launches the sequence repeatedly, back to back and untimed, for at least `seconds`; the round
  /// in flight completes. All variants must be warmed up.
  virtual void sustain(const std::vector<const Variant*>& sequence, Mode mode, double seconds) = 0;

  /// Times of an empty kernel, measured as in sample(): the launch overhead between the two events.
  virtual std::vector<double> sample_floor(Mode mode, int samples) = 0;

  /// Starts the interval that the next reading of the clock covers.
  virtual void start_clock() = 0;

  /// The mean SM clock since the last reading, read on the SMs. Empty if the interval is too short
  /// for an accuracy of 0.1 %; the next reading then also covers this interval.
  virtual std::optional<ClockReading> sm_clock() = 0;
};

/// Availability of hardware counters.
struct CounterSupport {
  std::string unavailable;  ///< why counters are unavailable, and the remedy; empty if available
  std::vector<std::string> unknown;  ///< requested metrics that this GPU does not have
};

/// A launch whose counters are requested.
struct CountedLaunch {
  const Family* family = nullptr;
  Values values;
  const Variant* variant = nullptr;
  Mode mode = Mode::cold;
};

/// Reads hardware counters.
class CounterReader {
 public:
  virtual ~CounterReader() = default;

  virtual CounterSupport counter_support(const std::vector<std::string>& metrics) = 0;

  /// Counts each launch, with the cache state of its mode, repeated as often as the counters
  /// require. In Mode::graph, it counts a launch on the copy that is next in rotation. The problems
  /// are generated from the seed and coexist in memory; the problem of set_up() is released first.
  /// `metrics` must not contain metrics that counter_support() reported as unknown.
  virtual std::vector<LaunchCounts> count(const std::vector<CountedLaunch>& launches,
                                          std::uint64_t seed,
                                          const std::vector<std::string>& metrics) = 0;
};

/// Counts executions of each instruction of a kernel.
class SourceCounterReader {
 public:
  virtual ~SourceCounterReader() = default;

  /// Counts per instruction of one kernel of the launch: the kernel with index `kernel` among those
  /// with a non-empty grid. If the launch runs that kernel again later, these executions are
  /// counted too. The problem is generated from the seed; the problem of set_up() is released
  /// first. A process may support only one call: call restart() between two calls. Throws
  /// DeviceError with the reason if nothing can be counted.
  virtual std::vector<CountedInstruction> count_source(const CountedLaunch& launch,
                                                       std::uint64_t seed, std::size_t kernel) = 0;
};

/// One of several executors that share a problem. All of them receive the same calls in the same
/// order, concurrently.
class RankMember {
 public:
  virtual ~RankMember() = default;

  /// Waits for all executors that join the same meeting. Problems set up later that span GPUs are
  /// shared with these executors.
  virtual void join(const RankPlace& place) = 0;
};

/// Starts and stops collection of a profiler that is attached to this process.
class ProfilerControl {
 public:
  virtual ~ProfilerControl() = default;
  virtual void start_profiler() = 0;
  virtual void stop_profiler() = 0;
};

/// Executes launches and verifies their results. Every call may throw DeviceError. After an error
/// that lost the device, call recover() and then set_up().
class Executor {
 public:
  virtual ~Executor() = default;

  /// Allocates a problem's buffers and fills its inputs from the seed. Releases the previous
  /// problem first.
  virtual void set_up(const Family& family, const Values& values, std::uint64_t seed) = 0;

  /// Fills the outputs of the variant's launch with a pattern that no correct result contains, and
  /// computes their references unless they exist.
  virtual void poison(const Variant& variant, Mode mode) = 0;

  /// Runs the launches that a sample in the mode times, untimed.
  virtual void launch(const Variant& variant, Mode mode) = 0;

  /// Compares the outputs of the last launch with their references: all elements, or elements drawn
  /// by the seed if the references cost too much. Also checks guards and inputs; afterwards the
  /// inputs hold the values of set_up().
  virtual Verification check(const Variant& variant, Mode mode) = 0;

  Verification verify(const Variant& variant, Mode mode) {
    poison(variant, mode);
    launch(variant, mode);
    return check(variant, mode);
  }

  /// The variant's measured metrics, read from the outputs of its last launch.
  virtual MetricValues measured_metrics(const Variant& variant) = 0;

  /// Reacquires a lost device; false if that is impossible.
  virtual bool recover() = 0;

  /// Continues in another process that has launched nothing and has no problem set up; false if
  /// there is none.
  virtual bool restart() = 0;

  /// Optional interfaces; null if not supported. They live as long as the executor.
  virtual LaunchTimer* timer() { return nullptr; }
  virtual CounterReader* counter_reader() { return nullptr; }
  virtual SourceCounterReader* source_counter_reader() { return nullptr; }
  virtual RankMember* rank_member() { return nullptr; }
  virtual ProfilerControl* profiler() { return nullptr; }
};

}  // namespace gpuexp
