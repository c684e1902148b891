// What the runner needs of a device. The CUDA executor implements it; tests implement it without
// one. Abilities stand apart: one that executes launches may have no clock that says what they
// take, or no counters.
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

/// Called after each sample with its place in the sequence asked for.
using SampleTaken = std::function<void(std::size_t place, const Sample&)>;

/// Untimed launches: at most so many, and none after they have taken so long.
struct WarmUp {
  std::size_t launches = 1;
  double seconds = 0;  ///< the first one begins anyhow
};

/// The ability to time launches of the problem that its executor has set up.
class LaunchTimer {
 public:
  virtual ~LaunchTimer() = default;

  /// Untimed launches that leave nothing lazy to the first sample.
  virtual SampleTraits warm_up(const Variant& variant, Mode mode, const WarmUp& most) = 0;

  /// One timed sample of each variant in the sequence; all of them are warmed up.
  virtual void sample(const std::vector<const Variant*>& sequence, Mode mode,
                      const SampleTaken& taken) = 0;

  /// Times launches of the variant from the first one on, each from before it is prepared until
  /// the GPU has done it. For executors that restart() took to a process that has launched none.
  virtual SampleTraits sample_from_first(const Variant& variant, Mode mode, int launches,
                                         const SampleTaken& taken) = 0;

  /// Launches the variants of the sequence over and over, back to back and untimed, for so many
  /// seconds and until the round in flight has ended; all of them are warmed up.
  virtual void sustain(const std::vector<const Variant*>& sequence, Mode mode, double seconds) = 0;

  /// Times of a kernel that does nothing, taken as sample() takes them: what a launch itself costs
  /// between the two events.
  virtual std::vector<double> sample_floor(Mode mode, int samples) = 0;

  /// The next reading of the clock covers what comes from here on.
  virtual void start_clock() = 0;

  /// The SM clock since the last reading, read on the SMs themselves. Empty where that is too short
  /// to be read to 0.1 %; the next reading then covers it as well.
  virtual std::optional<ClockReading> sm_clock() = 0;
};

/// Whether hardware counters can be read.
struct CounterSupport {
  std::string unavailable;           ///< why there are none, and the cure; empty when there are
  std::vector<std::string> unknown;  ///< of the metrics asked for, those that this GPU lacks
};

/// A launch whose counters are asked for.
struct CountedLaunch {
  const Family* family = nullptr;
  Values values;
  const Variant* variant = nullptr;
  Mode mode = Mode::cold;
};

/// The ability to read hardware counters.
class CounterReader {
 public:
  virtual ~CounterReader() = default;

  virtual CounterSupport counter_support(const std::vector<std::string>& metrics) = 0;

  /// What the GPU counts during each of the launches, which find the caches as their mode leaves
  /// them, repeated as often as the counters need; of Mode::graph, during a launch on the copy
  /// whose turn it is. The problems are made from the seed, beside each other in memory; what
  /// set_up() made is released first. The metrics are those that counter_support() has not found
  /// unknown.
  virtual std::vector<LaunchCounts> count(const std::vector<CountedLaunch>& launches,
                                          std::uint64_t seed,
                                          const std::vector<std::string>& metrics) = 0;
};

/// The ability to count at each instruction of a kernel.
class SourceCounterReader {
 public:
  virtual ~SourceCounterReader() = default;

  /// What the GPU counts during a launch at each instruction of one of its kernels, that with the
  /// number `kernel` of those that have blocks; all times that the launch has that kernel from
  /// there on are counted. The problem is made from the seed; what set_up() made is released first.
  /// A process may be able to do it once: restart() comes between two. Throws DeviceError with the
  /// reason where nothing can be counted.
  virtual std::vector<CountedInstruction> count_source(const CountedLaunch& launch,
                                                       std::uint64_t seed, std::size_t kernel) = 0;
};

/// The ability to be one of several executors that share a problem. Each of them gets the same
/// calls in the same order, all at once.
class RankMember {
 public:
  virtual ~RankMember() = default;

  /// Problems that are set up from here on and span GPUs are shared with the executors that join
  /// the same meeting, of which it waits for all.
  virtual void join(const RankPlace& place) = 0;
};

/// The ability to say when a profiler around this process is to collect.
class ProfilerControl {
 public:
  virtual ~ProfilerControl() = default;
  virtual void start_profiler() = 0;
  virtual void stop_profiler() = 0;
};

/// Executes launches, and tells whether their results are right. Every call may throw DeviceError;
/// after one that lost the device, recover() comes first and then set_up().
class Executor {
 public:
  virtual ~Executor() = default;

  /// Allocates a problem's buffers and fills its inputs from the seed. What an earlier problem held
  /// is released first.
  virtual void set_up(const Family& family, const Values& values, std::uint64_t seed) = 0;

  /// Fills the outputs of a launch of the variant in the mode with a pattern that no result may
  /// keep, and makes their references unless they are there.
  virtual void poison(const Variant& variant, Mode mode) = 0;

  /// The launches that a sample in the mode times, untimed.
  virtual void launch(const Variant& variant, Mode mode) = 0;

  /// Compares what the last launch should have written with its references, all of it or, where
  /// these cost too much, elements that the seed draws; looks at the guards and the inputs, which
  /// are as set_up() left them afterwards.
  virtual Verification check(const Variant& variant, Mode mode) = 0;

  Verification verify(const Variant& variant, Mode mode) {
    poison(variant, mode);
    launch(variant, mode);
    return check(variant, mode);
  }

  /// The variant's measured metrics, read from what its last launch wrote.
  virtual MetricValues measured_metrics(const Variant& variant) = 0;

  /// Takes the device anew after it was lost; false where that cannot be done.
  virtual bool recover() = 0;

  /// Goes on in another process, which has launched nothing yet and has nothing set up; false where
  /// there is none to be had.
  virtual bool restart() = 0;

  /// Further abilities; null where it has none. They live as long as the executor.
  virtual LaunchTimer* timer() { return nullptr; }
  virtual CounterReader* counter_reader() { return nullptr; }
  virtual SourceCounterReader* source_counter_reader() { return nullptr; }
  virtual RankMember* rank_member() { return nullptr; }
  virtual ProfilerControl* profiler() { return nullptr; }
};

}  // namespace gpuexp
