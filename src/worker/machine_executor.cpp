#include "worker/machine_executor.hpp"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace gpuexp {

namespace {

std::string of_rank(int rank, const std::string& buffer) {
  return fmt::format("{} of rank {}", buffer, rank);
}

Verification merged(const std::vector<Verification>& of_ranks) {
  Verification all;
  double squares = 0;
  for (std::size_t r = 0; r < of_ranks.size(); ++r) {
    const Verification& one = of_ranks[r];
    const int rank = static_cast<int>(r);
    all.elements += one.elements;
    all.checked += one.checked;
    all.wrong += one.wrong;
    for (const ZeroShare& share : one.zero_shares)
      all.zero_shares.push_back({of_rank(rank, share.buffer), share.share});
    if (all.first_wrong.empty()) {
      all.first_wrong = one.first_wrong;
      for (Mismatch& wrong : all.first_wrong)
        wrong.buffer = of_rank(rank, wrong.buffer);
    }
    if (all.overrun.empty() && !one.overrun.empty()) all.overrun = of_rank(rank, one.overrun);
    if (all.changed_input.empty() && !one.changed_input.empty())
      all.changed_input = of_rank(rank, one.changed_input);
    // The negation makes NaN the maximum.
    if (!(one.worst_over_allowed <= all.worst_over_allowed))
      all.worst_over_allowed = one.worst_over_allowed;
    RmsError rms = one.rms;
    rms.buffer = of_rank(rank, rms.buffer);
    all.add_rms(std::move(rms));
    squares += one.error_rms_rel * one.error_rms_rel;
    all.error_max_rel = std::max(all.error_max_rel, one.error_max_rel);
  }
  all.error_rms_rel = std::sqrt(squares / static_cast<double>(of_ranks.size()));
  return all;
}

/// The slowest rank's time, and the skew between the ranks' starts.
Sample merged(const std::vector<Sample>& of_ranks) {
  Sample all = of_ranks.front();
  std::int64_t earliest_ns = *all.start_ns;
  std::int64_t latest_ns = earliest_ns;
  for (const Sample& one : of_ranks) {
    if (one.time_us > all.time_us) {
      all.time_us = one.time_us;
      all.sm_clock_mhz = one.sm_clock_mhz;
    }
    earliest_ns = std::min(earliest_ns, *one.start_ns);
    latest_ns = std::max(latest_ns, *one.start_ns);
  }
  constexpr double kMicrosecondsPerNanosecond = 1e-3;
  all.skew_us = kMicrosecondsPerNanosecond * static_cast<double>(latest_ns - earliest_ns);
  return all;
}

std::optional<DeviceFault> fault_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const DeviceError& of_device) {
    return of_device.fault();
  } catch (...) {
    return std::nullopt;
  }
}

/// Collects samples. A sample is complete once all ranks have sent their times.
class SampleMerger {
 public:
  SampleMerger(int ranks, std::size_t samples)
      : samples_(samples, std::vector<Sample>(static_cast<std::size_t>(ranks))),
        missing_(samples, ranks) {}

  void add(int rank, std::size_t place, const Sample& sample) {
    const std::lock_guard lock(mutex_);
    samples_[place][static_cast<std::size_t>(rank)] = sample;
    --missing_[place];
    changed_.notify_one();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_one();
  }
  /// Waits for the sample at `place`; empty if the sample will never be complete.
  std::optional<Sample> wait(std::size_t place) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ || missing_[place] == 0; });
    if (missing_[place] > 0) return std::nullopt;
    return merged(samples_[place]);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<Sample>> samples_;  ///< by place, then by rank
  std::vector<int> missing_;                  ///< number of missing ranks, by place
  bool ended_ = false;
};

}  // namespace

MachineExecutor::MachineExecutor(MachineOptions options) : options_(std::move(options)) {
  ranks_.push_back(started(0));
}

MachineExecutor::~MachineExecutor() = default;

const std::string& MachineExecutor::greeting() const {
  return first().greeting();
}

std::unique_ptr<RemoteExecutor> MachineExecutor::started(int rank) {
  RemoteOptions remote;
  remote.start = [this, rank] { return options_.start(rank, environment_); };
  remote.launch_timeout_s = options_.launch_timeout_s;
  // A reference launch of a user's file may be as slow as the kernels that need more time.
  constexpr double kLaunches = 40;
  remote.reference_timeout_s =
      std::max(remote.reference_timeout_s, kLaunches * options_.launch_timeout_s);
  remote.interrupted = options_.interrupted;
  remote.abandoned = [this] { return abandoned_.load(); };
  auto executor = std::make_unique<RemoteExecutor>(remote);
  if (rank > 0) options_.greeted(rank, executor->greeting());
  if (is_profiled_) executor->start_profiler();
  return executor;
}

/// Lets ranks 0 to ranks - 1 join one meeting unless they have joined it; starts missing workers.
void MachineExecutor::gather(int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == static_cast<int>(ranks_.size())) {
      try {
        ranks_.push_back(started(rank));
      } catch (const DeviceError& error) {
        throw DeviceError(fmt::format("rank {}: {}", rank, error.what()), DeviceFault::refused);
      }
    }
    RemoteExecutor& member = *ranks_[static_cast<std::size_t>(rank)];
    if (member.is_running()) continue;
    member.restart();
    joined_ = 1;
  }
  if (joined_ == ranks) return;
  const std::string meeting = random_meeting();
  on_ranks(ranks, [&](RemoteExecutor& member, int rank) { member.join({rank, ranks, meeting}); });
  joined_ = ranks;
}

template <class Call>
MachineExecutor::Loss MachineExecutor::call_ranks(int ranks, const Call& call) {
  std::mutex mutex;
  std::vector<Loss> losses;  // in order of occurrence
  abandoned_ = false;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          call(*ranks_[static_cast<std::size_t>(rank)], rank);
        } catch (...) {
          const std::lock_guard lock(mutex);
          losses.push_back({rank, std::current_exception()});
          abandoned_ = true;
        }
      });
    }
  }
  abandoned_ = false;
  if (losses.empty()) return {};
  // Errors that end the run rank before errors that end workers. Among errors that end workers, a
  // dead process explains more than a library error on another rank, and a stopped rank explains
  // least.
  const auto weight = [](const Loss& loss) {
    const auto fault = fault_of(loss.error);
    if (!fault) return 0;
    if (*fault == DeviceFault::peer_lost) return 3;
    return *fault == DeviceFault::refused ? 2 : 1;
  };
  return *std::min_element(losses.begin(), losses.end(), [&](const Loss& one, const Loss& other) {
    return weight(one) < weight(other);
  });
}

template <class Call>
void MachineExecutor::on_ranks(int ranks, const Call& call) {
  if (ranks == 1) return call(first(), 0);
  end_all_after(call_ranks(ranks, call));
}

// Must run in the thread that forked the workers, because the end of that thread kills them.
void MachineExecutor::end_all_after(const Loss& loss) {
  if (!loss.error) return;
  for (const auto& member : ranks_)
    member->end();
  joined_ = spanned_ = 1;
  try {
    std::rethrow_exception(loss.error);
  } catch (const DeviceError& error) {
    // Restarts here, because the caller calls recover() only after a device loss.
    if (!error.device_lost()) first().restart();
    throw DeviceError(fmt::format("rank {}: {}", loss.rank, error.what()), error.fault());
  }
}

// Libraries read the environment once, so a change requires new processes.
void MachineExecutor::use(const Environment& environment) {
  if (environment == environment_) return;
  environment_ = environment;
  joined_ = spanned_ = 1;
  for (const auto& member : ranks_)
    member->end();
  first().restart();
}

void MachineExecutor::set_up(const Family& family, const Values& values, std::uint64_t seed) {
  const auto problem = family.make_problem(values);
  use(family.environment ? family.environment(problem.get()) : Environment());
  const int gpus = family.gpus_of(problem.get());
  if (gpus > 1) gather(gpus);
  spanned_ = gpus;
  on_ranks(spanned_, [&](RemoteExecutor& member, int) { member.set_up(family, values, seed); });
}

void MachineExecutor::poison(const Variant& variant, Mode mode) {
  on_ranks(spanned_, [&](RemoteExecutor& member, int) { member.poison(variant, mode); });
}

void MachineExecutor::launch(const Variant& variant, Mode mode) {
  on_ranks(spanned_, [&](RemoteExecutor& member, int) { member.launch(variant, mode); });
}

Verification MachineExecutor::check(const Variant& variant, Mode mode) {
  if (spanned_ == 1) return first().check(variant, mode);
  std::vector<Verification> of_ranks(static_cast<std::size_t>(spanned_));
  on_ranks(spanned_, [&](RemoteExecutor& member, int rank) {
    of_ranks[static_cast<std::size_t>(rank)] = member.check(variant, mode);
  });
  return merged(of_ranks);
}

SampleTraits MachineExecutor::warm_up(const Variant& variant, Mode mode, const WarmUp& limits) {
  std::vector<SampleTraits> of_ranks(static_cast<std::size_t>(spanned_));
  on_ranks(spanned_, [&](RemoteExecutor& member, int rank) {
    of_ranks[static_cast<std::size_t>(rank)] = member.warm_up(variant, mode, limits);
  });
  if (spanned_ == 1) return of_ranks.front();
  SampleTraits traits = of_ranks.front();
  traits.timeline.clear();
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    const SampleTraits& one = of_ranks[rank];
    traits.preparation_us = std::max(traits.preparation_us, one.preparation_us);
    traits.gated = traits.gated && one.gated;
    for (StepTime step : one.timeline) {
      step.rank = static_cast<int>(rank);
      traits.timeline.push_back(std::move(step));
    }
  }
  return traits;
}

void MachineExecutor::sample(const std::vector<const Variant*>& sequence, Mode mode,
                             const SampleTaken& taken) {
  if (spanned_ == 1) return first().sample(sequence, mode, taken);
  SampleMerger merger(spanned_, sequence.size());
  Loss loss;
  std::jthread ranks([&] {
    loss = call_ranks(spanned_, [&](RemoteExecutor& member, int rank) {
      member.sample(sequence, mode, [&](std::size_t place, const Sample& sample) {
        merger.add(rank, place, sample);
      });
    });
    merger.end();
  });
  for (std::size_t place = 0; place < sequence.size(); ++place) {
    const std::optional<Sample> sample = merger.wait(place);
    if (!sample) break;
    taken(place, *sample);
  }
  ranks.join();
  end_all_after(loss);
}

SampleTraits MachineExecutor::sample_from_first(const Variant& variant, Mode mode, int launches,
                                                const SampleTaken& taken) {
  return first().sample_from_first(variant, mode, launches, taken);
}

std::vector<double> MachineExecutor::sample_floor(Mode mode, int samples) {
  return first().sample_floor(mode, samples);
}

void MachineExecutor::start_clock() {
  on_ranks(spanned_, [](RemoteExecutor& member, int) { member.start_clock(); });
}

std::optional<ClockReading> MachineExecutor::sm_clock() {
  std::vector<std::optional<ClockReading>> of_ranks(static_cast<std::size_t>(spanned_));
  on_ranks(spanned_, [&](RemoteExecutor& member, int rank) {
    of_ranks[static_cast<std::size_t>(rank)] = member.sm_clock();
  });
  std::optional<ClockReading> slowest;
  for (const auto& one : of_ranks) {
    if (one && (!slowest || one->mhz < slowest->mhz)) slowest = one;
  }
  return slowest;
}

void MachineExecutor::sustain(const std::vector<const Variant*>& sequence, Mode mode,
                              double seconds) {
  on_ranks(spanned_, [&](RemoteExecutor& member, int) { member.sustain(sequence, mode, seconds); });
}

MetricValues MachineExecutor::measured_metrics(const Variant& variant) {
  std::vector<MetricValues> of_ranks(static_cast<std::size_t>(spanned_));
  on_ranks(spanned_, [&](RemoteExecutor& member, int rank) {
    of_ranks[static_cast<std::size_t>(rank)] = member.measured_metrics(variant);
  });
  return of_ranks.front();
}

CounterSupport MachineExecutor::counter_support(const std::vector<std::string>& metrics) {
  return first().counter_support(metrics);
}

std::vector<LaunchCounts> MachineExecutor::count(const std::vector<CountedLaunch>& launches,
                                                 std::uint64_t seed,
                                                 const std::vector<std::string>& metrics) {
  std::vector<LaunchCounts> counts;
  // Counts consecutive launches together if their ranks and environments are equal.
  const auto place = [](const CountedLaunch& launch) {
    const auto problem = launch.family->make_problem(launch.values);
    const auto& environment = launch.family->environment;
    return std::pair(launch.family->gpus_of(problem.get()),
                     environment ? environment(problem.get()) : Environment());
  };
  for (auto begin = launches.begin(); begin != launches.end();) {
    const auto [gpus, environment] = place(*begin);
    const auto end = std::find_if(begin, launches.end(), [&, at = place(*begin)](const auto& one) {
      return place(one) != at;
    });
    use(environment);
    const auto counted = count_on(gpus, {begin, end}, seed, metrics);
    counts.insert(counts.end(), counted.begin(), counted.end());
    begin = end;
  }
  return counts;
}

std::vector<LaunchCounts> MachineExecutor::count_on(int gpus,
                                                    const std::vector<CountedLaunch>& launches,
                                                    std::uint64_t seed,
                                                    const std::vector<std::string>& metrics) {
  if (gpus == 1) return first().count(launches, seed, metrics);
  gather(gpus);
  spanned_ = gpus;
  std::vector<std::vector<LaunchCounts>> of_ranks(static_cast<std::size_t>(gpus));
  on_ranks(gpus, [&](RemoteExecutor& member, int rank) {
    of_ranks[static_cast<std::size_t>(rank)] = member.count(launches, seed, metrics);
  });
  std::vector<LaunchCounts> all = of_ranks.front();
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].kernels.clear();
    for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
      for (KernelCounts kernel : of_ranks[rank].at(i).kernels) {
        kernel.kernel = fmt::format("rank_{}", rank);
        all[i].kernels.push_back(std::move(kernel));
      }
    }
  }
  return all;
}

std::vector<CountedInstruction> MachineExecutor::count_source(const CountedLaunch& launch,
                                                              std::uint64_t seed,
                                                              std::size_t kernel) {
  return first().count_source(launch, seed, kernel);
}

bool MachineExecutor::recover() {
  joined_ = spanned_ = 1;
  return first().recover();
}

bool MachineExecutor::restart() {
  joined_ = spanned_ = 1;
  return first().restart();
}

void MachineExecutor::start_profiler() {
  is_profiled_ = true;
  for (const auto& member : ranks_)
    member->start_profiler();
}

void MachineExecutor::stop_profiler() {
  is_profiled_ = false;
  for (const auto& member : ranks_)
    member->stop_profiler();
}

}  // namespace gpuexp
