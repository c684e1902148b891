// The GPUs of a machine as one executor, with one worker per GPU. Problems that span GPUs use
// several workers, other problems the first.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "worker/remote_executor.hpp"

namespace gpuexp {

struct MachineOptions {
  /// Starts the worker of a rank's GPU with these environment variables. The worker sends a
  /// greeting as its first line and then calls serve().
  std::function<std::unique_ptr<WorkerProcess>(int rank, const Environment& variables)> start;
  /// Throws DeviceError if the greeting shows that the rank, which is not 0, cannot take part.
  std::function<void(int rank, const std::string& greeting)> greeted = [](int, const std::string&) {
  };
  double launch_timeout_s = 30.0;                            ///< RemoteOptions::launch_timeout_s
  std::function<bool()> interrupted = [] { return false; };  ///< RemoteOptions::interrupted
};

/// Workers except the first are started when a problem first spans their GPUs. A call on such a
/// problem goes to all of its ranks concurrently. If one rank fails (a fault, a dead worker or a
/// missing answer), the workers of all ranks are killed, because a kernel may wait for the failed
/// rank and cannot be stopped otherwise. If several ranks fail, the error names the rank whose
/// error explains most, such as a dead worker. The next problem gets new workers, as does a problem
/// with a different environment.
///
/// For a problem that spans GPUs, a sample is the slowest rank's time, with the skew between the
/// ranks' starts. Verification covers the elements of all ranks. Counts have one "kernel" per rank,
/// which contains everything that the rank ran in the launch.
class MachineExecutor final : public Executor,
                              public LaunchTimer,
                              public CounterReader,
                              public SourceCounterReader,
                              public ProfilerControl {
 public:
  /// Starts the first worker and waits for its greeting. Throws DeviceError.
  explicit MachineExecutor(MachineOptions options);
  ~MachineExecutor() override;

  const std::string& greeting() const;

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
  /// The minimum of the ranks' clocks.
  std::optional<ClockReading> sm_clock() override;
  void sustain(const std::vector<const Variant*>& sequence, Mode mode, double seconds) override;
  MetricValues measured_metrics(const Variant& variant) override;
  CounterSupport counter_support(const std::vector<std::string>& metrics) override;
  std::vector<LaunchCounts> count(const std::vector<CountedLaunch>& launches, std::uint64_t seed,
                                  const std::vector<std::string>& metrics) override;
  std::vector<CountedInstruction> count_source(const CountedLaunch& launch, std::uint64_t seed,
                                               std::size_t kernel) override;
  bool recover() override;
  bool restart() override;
  /// Applies to all workers, including workers that start later.
  void start_profiler() override;
  void stop_profiler() override;

  LaunchTimer* timer() override { return this; }
  CounterReader* counter_reader() override { return this; }
  SourceCounterReader* source_counter_reader() override { return this; }
  ProfilerControl* profiler() override { return this; }

 private:
  RemoteExecutor& first() const { return *ranks_.front(); }
  /// The failed rank whose error explains most, and this error; null if no rank failed.
  struct Loss {
    int rank = -1;
    std::exception_ptr error;
  };

  std::unique_ptr<RemoteExecutor> started(int rank);
  void use(const Environment& environment);
  void gather(int ranks);
  std::vector<LaunchCounts> count_on(int gpus, const std::vector<CountedLaunch>& launches,
                                     std::uint64_t seed, const std::vector<std::string>& metrics);
  template <class Call>
  Loss call_ranks(int ranks, const Call& call);
  template <class Call>
  void on_ranks(int ranks, const Call& call);
  void end_all_after(const Loss& loss);

  MachineOptions options_;
  std::atomic<bool> abandoned_{false};  ///< a rank has failed; other ranks' calls end
  std::vector<std::unique_ptr<RemoteExecutor>> ranks_;
  Environment environment_;  ///< environment of the workers
  bool is_profiled_ = false;
  int joined_ = 1;   ///< number of ranks that have joined the current meeting
  int spanned_ = 1;  ///< number of ranks of the set-up problem
};

}  // namespace gpuexp
