// The GPUs of a machine as one executor: a worker for each, of which problems that span GPUs take
// several and all others the first.
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
  /// Starts the worker of the GPU that a rank has, with these variables in its environment: its
  /// first line is a greeting, and serve() follows.
  std::function<std::unique_ptr<WorkerProcess>(int rank, const Environment& variables)> start;
  /// Throws DeviceError where the greeting of a rank behind the first says that it cannot take
  /// part.
  std::function<void(int rank, const std::string& greeting)> greeted = [](int, const std::string&) {
  };
  double launch_timeout_s = 30.0;                            ///< as RemoteOptions has it
  std::function<bool()> interrupted = [] { return false; };  ///< likewise
};

/// Workers behind the first are started when a problem first spans as many GPUs. A call on such a
/// problem goes to all of its ranks at once. What ends one rank's call, a fault, a worker that dies
/// or an answer that does not come, ends all of them: their workers are killed, the error names the
/// rank that failed first, and the next problem gets new ones. A rank cannot go on without the
/// others, and may wait for them in a kernel that nothing else stops. A problem whose environment
/// is another one gets new workers, too.
///
/// Of a problem that spans GPUs, a sample is the slowest rank's, the skew is between the ranks'
/// starts, what is verified are the elements of all of them, and counts have one "kernel" for each
/// rank: what it ran in the launch.
class MachineExecutor final : public Executor,
                              public LaunchTimer,
                              public CounterReader,
                              public SourceCounterReader,
                              public ProfilerControl {
 public:
  /// Starts the first worker and waits for its greeting. Throws DeviceError.
  explicit MachineExecutor(MachineOptions options);
  ~MachineExecutor() override;

  /// Of the first worker.
  const std::string& greeting() const;

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
  /// Of several ranks, the slowest.
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
  /// Of all workers, also of those that start later.
  void start_profiler() override;
  void stop_profiler() override;

  LaunchTimer* timer() override { return this; }
  CounterReader* counter_reader() override { return this; }
  SourceCounterReader* source_counter_reader() override { return this; }
  ProfilerControl* profiler() override { return this; }

 private:
  RemoteExecutor& first() const { return *ranks_.front(); }
  /// The rank that failed first, if any did, and its error.
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
  std::atomic<bool> abandoned_{false};  ///< a rank has failed, and the others are not waited for
  std::vector<std::unique_ptr<RemoteExecutor>> ranks_;
  Environment environment_;  ///< of the workers
  bool is_profiled_ = false;
  int joined_ = 1;   ///< ranks of the group whose members know each other
  int spanned_ = 1;  ///< ranks of the problem that is set up
};

}  // namespace gpuexp
