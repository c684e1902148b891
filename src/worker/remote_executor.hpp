// An executor in another process, so that a crash or hang does not end the run.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/worker_process.hpp"
#include "run/executor.hpp"

namespace gpuexp {

struct RemoteOptions {
  /// Starts a worker, which sends a greeting as its first line and then calls serve().
  std::function<std::unique_ptr<WorkerProcess>()> start;
  /// Maximum seconds of one launch; the worker is killed after a longer launch.
  double launch_timeout_s = 30.0;
  /// Maximum seconds of a request that computes references: their fp64 kernels are far slower than
  /// measured kernels, and the checks of users' kernels are interpreted.
  double reference_timeout_s = 1200.0;
  /// True once the user requests a stop; a running launch then gets kInterruptedPatienceS to
  /// finish. An exception thrown by this function ends the waiting call.
  std::function<bool()> interrupted = [] { return false; };
  /// True once the answer is no longer needed; the worker is then killed immediately.
  std::function<bool()> abandoned = [] { return false; };
  /// The worker's executor simulates the GPU. It counts launches and has no other optional
  /// interface. A worker holds nothing that needs time to end and can always be replaced.
  bool simulated = false;
};

/// Unless RemoteOptions::simulated is true, requires a worker whose executor has a timer and both
/// counter readers, and controls profilers.
class RemoteExecutor final : public Executor,
                             public LaunchTimer,
                             public CounterReader,
                             public SourceCounterReader,
                             public RankMember,
                             public ProfilerControl {
 public:
  explicit RemoteExecutor(RemoteOptions options);

  const std::string& greeting() const { return greeting_; }

  void set_up(const Family& family, const Values& values, std::uint64_t seed) override;
  void poison(const Variant& variant, Mode mode) override;
  void launch(const Variant& variant, Mode mode) override;
  Verification check(const Variant& variant, Mode mode) override;
  SampleTraits warm_up(const Variant& variant, Mode mode, const WarmUp& limits) override;
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
  /// Kills the worker. Call restart() or recover() next.
  void end() { worker_.reset(); }

  /// Starts another worker. False if the start fails, or if no request has succeeded since the last
  /// loss of a worker, unless RemoteOptions::simulated is true.
  bool recover() override;
  /// Kills the worker and starts another. Throws DeviceError if that fails.
  bool restart() override;

  LaunchTimer* timer() override { return unless_simulated(); }
  CounterReader* counter_reader() override { return this; }
  SourceCounterReader* source_counter_reader() override { return unless_simulated(); }
  RankMember* rank_member() override { return unless_simulated(); }
  ProfilerControl* profiler() override { return unless_simulated(); }

 private:
  class Call;

  RemoteExecutor* unless_simulated() { return options_.simulated ? nullptr : this; }

  std::string receive(double timeout_s, const std::string& what);
  [[noreturn]] void lose(const std::string& what, DeviceFault fault);
  std::string start();

  RemoteOptions options_;
  std::unique_ptr<WorkerProcess> worker_;
  bool is_profiled_ = false;  ///< profile new workers; greeting_'s initializer reads this
  std::string greeting_;
  bool has_answered_ = true;  ///< a request has succeeded since the last loss
};

}  // namespace gpuexp
