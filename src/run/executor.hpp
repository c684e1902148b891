// The interface between the runner and a device. Timing and counting are separate interfaces,
// because some executors can only launch kernels.
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

/// Limits of a warm-up: at most `launches` untimed launches. After `seconds`, only the first launch
/// may start.
struct WarmUp {
  std::size_t launches = 1;
  double seconds = 0;
};

class LaunchTimer {
 public:
  virtual ~LaunchTimer() = default;

  /// Runs untimed launches, which complete lazy initialization before the first sample.
  virtual SampleTraits warm_up(const Variant& variant, Mode mode, const WarmUp& limits) = 0;

  /// Takes one timed sample of each variant in the sequence. All variants must be warmed up.
  virtual void sample(const std::vector<const Variant*>& sequence, Mode mode,
                      const SampleTaken& taken) = 0;

  /// Times the variant's first launches in the process, each from before its preparation until the
  /// GPU has completed it. Call restart() first, and launch nothing in between.
  virtual SampleTraits sample_from_first(const Variant& variant, Mode mode, int launches,
                                         const SampleTaken& taken) = 0;

  /// Repeats the sequence, back to back and untimed, until `seconds` have passed and the current
  /// repetition has completed. All variants must be warmed up.
  virtual void sustain(const std::vector<const Variant*>& sequence, Mode mode, double seconds) = 0;

  /// Microseconds of an empty kernel, measured as in sample(): the launch overhead that a sample
  /// contains.
  virtual std::vector<double> sample_floor(Mode mode, int samples) = 0;

  /// Starts the interval that the next call of sm_clock() covers.
  virtual void start_clock() = 0;

  /// The mean SM clock since the last reading, read on the SMs. Empty if the interval is too short
  /// for an accuracy of 0.1 %; the next call then covers this interval as well.
  virtual std::optional<ClockReading> sm_clock() = 0;
};

struct CounterSupport {
  std::string unavailable;           ///< reason and remedy; empty if counters are available
  std::vector<std::string> unknown;  ///< requested metrics that this GPU does not have
};

struct CountedLaunch {
  const Family* family = nullptr;
  Values values;
  const Variant* variant = nullptr;
  Mode mode = Mode::cold;
};

class CounterReader {
 public:
  virtual ~CounterReader() = default;

  virtual CounterSupport counter_support(const std::vector<std::string>& metrics) = 0;

  /// Counts each launch, from the cache state that its mode prescribes, as often as the counters
  /// require. In Mode::graph, the launch uses the copy that is next in rotation. The problems are
  /// generated from the seed and are in memory together; the problem of set_up() is released first.
  /// `metrics` must not contain unknown metrics (counter_support()).
  virtual std::vector<LaunchCounts> count(const std::vector<CountedLaunch>& launches,
                                          std::uint64_t seed,
                                          const std::vector<std::string>& metrics) = 0;
};

class SourceCounterReader {
 public:
  virtual ~SourceCounterReader() = default;

  /// Number of executions of each instruction of one kernel: the kernel with index `kernel` among
  /// the launch's kernels with a non-empty grid. Includes later executions of this kernel in the
  /// launch. The problem is generated from the seed; the problem of set_up() is released first. A
  /// process may support only one call: call restart() before the next. Throws DeviceError if
  /// nothing can be counted.
  virtual std::vector<CountedInstruction> count_source(const CountedLaunch& launch,
                                                       std::uint64_t seed, std::size_t kernel) = 0;
};

/// One of several executors that share a problem. All executors receive the same calls in the same
/// order, concurrently.
class RankMember {
 public:
  virtual ~RankMember() = default;

  /// Waits until all ranks of the same meeting have joined. From then on, problems that span GPUs
  /// are shared with these ranks.
  virtual void join(const RankPlace& place) = 0;
};

/// Starts and stops the collection of a profiler attached to this process.
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

  /// Fills the outputs of the variant's launch with a pattern, which is NaN in floating-point
  /// types. Computes the references of these outputs unless they exist or depend on the results.
  virtual void poison(const Variant& variant, Mode mode) = 0;

  /// Runs, untimed, the launches of one sample in the mode.
  virtual void launch(const Variant& variant, Mode mode) = 0;

  /// Compares the outputs of the last launch with their references: all elements, or elements drawn
  /// by the seed if computing all references costs too much. Also checks that guards and inputs are
  /// unchanged, and restores them otherwise.
  virtual Verification check(const Variant& variant, Mode mode) = 0;

  Verification verify(const Variant& variant, Mode mode) {
    poison(variant, mode);
    launch(variant, mode);
    return check(variant, mode);
  }

  /// The variant's measured metrics, read from the outputs of its last launch.
  virtual MetricValues measured_metrics(const Variant& variant) = 0;

  virtual bool recover() = 0;

  /// Continues in another process, which has launched nothing and has no problem set up; false if
  /// no such process is available.
  virtual bool restart() = 0;

  /// Optional interfaces; null if not supported. They live as long as the executor.
  virtual LaunchTimer* timer() { return nullptr; }
  virtual CounterReader* counter_reader() { return nullptr; }
  virtual SourceCounterReader* source_counter_reader() { return nullptr; }
  virtual RankMember* rank_member() { return nullptr; }
  virtual ProfilerControl* profiler() { return nullptr; }
};

}  // namespace gpuexp
