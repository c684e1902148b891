// An executor in another process: what kills that process, or never returns, costs it and not the
// results.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "run/executor.hpp"
#include "worker/worker_process.hpp"

namespace gpuexp {

struct RemoteOptions {
  /// Starts a worker: its first line is a greeting, and serve() follows.
  std::function<std::unique_ptr<WorkerProcess>()> start;
  /// Seconds that one launch may take before its process is ended.
  double launch_timeout_s = 30.0;
  /// True once the user wants to stop; a launch then gets a short while to end by itself. What it
  /// throws ends the call that waits.
  std::function<bool()> interrupted = [] { return false; };
  /// True once nobody waits for an answer any more: the worker is then ended at once.
  std::function<bool()> abandoned = [] { return false; };
};

/// Its worker's executor has a timer and both counter readers, and controls profilers.
class RemoteExecutor final : public Executor,
                             public LaunchTimer,
                             public CounterReader,
                             public SourceCounterReader,
                             public RankMember,
                             public ProfilerControl {
 public:
  /// Starts the worker and waits for its greeting. Throws DeviceError.
  explicit RemoteExecutor(RemoteOptions options);

  /// The line that the first worker greeted with.
  const std::string& greeting() const { return greeting_; }

  void set_up(const Family& family, const Values& values, std::uint64_t seed) override;
  void poison(const Variant& variant, Mode mode) override;
  void launch(const Variant& variant, Mode mode) override;
  Verification check(const Variant& variant, Mode mode) override;
  SampleTraits warm_up(const Variant& variant, Mode mode, const WarmUp& most) override;
  void sample(const std::vector<const Variant*>& sequence, Mode mode,
              const SampleTaken& taken) override;
  SampleTraits sample_from_first(const Variant& variant, Mode mode, int launches,
                                 const SampleTaken& taken) override;
  std::vector<double> sample_floor(Mode mode, int samples) override;
  void start_clock() override;
  std::optional<ClockReading> sm_clock() override;
  void sustain(const std::vector<const Variant*>& sequence, Mode mode, double seconds) override;
  MetricValues measured_metrics(const Variant& variant) override;
  CounterSupport counter_support(const std::vector<std::string>& metrics) override;
  std::vector<LaunchCounts> count(const std::vector<CountedLaunch>& launches, std::uint64_t seed,
                                  const std::vector<std::string>& metrics) override;
  std::vector<CountedInstruction> count_source(const CountedLaunch& launch, std::uint64_t seed,
                                               std::size_t kernel) override;

  void join(const RankPlace& place) override;
  void start_profiler() override;
  void stop_profiler() override;

  bool is_running() const { return worker_ != nullptr; }
  /// Kills the worker. What comes next is restart() or recover().
  void end() { worker_.reset(); }

  /// Starts another worker, unless none has managed to do anything since the last one was lost.
  bool recover() override;
  /// Ends the worker and starts another. Throws DeviceError where that cannot be done.
  bool restart() override;

  LaunchTimer* timer() override { return this; }
  CounterReader* counter_reader() override { return this; }
  SourceCounterReader* source_counter_reader() override { return this; }
  RankMember* rank_member() override { return this; }
  ProfilerControl* profiler() override { return this; }

 private:
  class Call;

  std::string receive(double timeout_s, const std::string& what);
  [[noreturn]] void lose(const std::string& what, DeviceFault fault);
  std::string start();

  RemoteOptions options_;
  std::unique_ptr<WorkerProcess> worker_;
  bool is_profiled_ = false;  ///< each worker, from its start on; before greeting_, which needs it
  std::string greeting_;
  bool has_answered_ = true;  ///< with more than an error, since the last one was lost
};

}  // namespace gpuexp
