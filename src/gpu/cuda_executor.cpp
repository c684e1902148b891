#include "gpu/cuda_executor.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <utility>

#include <cuda_profiler_api.h>

#include "base/steady_clock.hpp"
#include "gpu/cache_flush.hpp"
#include "gpu/counters_unavailable.hpp"
#include "gpu/cuda_graph.hpp"
#include "gpu/event_timer.hpp"
#include "gpu/floor_times.hpp"
#include "gpu/hardware_counters.hpp"
#include "gpu/launcher.hpp"
#include "gpu/problem_launches.hpp"
#include "gpu/resources.hpp"
#include "gpu/sm_clock.hpp"
#include "gpu/source_counters.hpp"
#include "gpu/verifier.hpp"

namespace gpuexp {

namespace {

constexpr const char* kNotCounted =
    "executions of single instructions are not counted in launches on several GPUs";

class CudaExecutor final : public Executor,
                           public LaunchTimer,
                           public CounterReader,
                           public SourceCounterReader,
                           public RankMember,
                           public ProfilerControl {
 public:
  CudaExecutor(int index, const DeviceSpec& device, const CudaOptions& options)
      : index_(index),
        device_(device),
        max_reference_operations_(options.max_reference_s * reference_rate(device)),
        timer_(options.gated),
        stream_(typical_stream(timer_)),
        sm_clock_(device.sm_count),
        sample_clock_(device.sm_count),
        flush_(device) {
    L2SetAside::clear();
    // The flush time of a busy GPU, from which sm_clock() computes the load of a reading. The
    // minimum excludes the first flush, which loads the kernel, and the low clock of an idle GPU.
    constexpr int kFlushes = 8;
    for (int i = 0; i < kFlushes; ++i)
      flush_us_ = std::min(flush_us_,
                           timed_us(false, "the flush", [&] { flush_.enqueue(stream_, false); }));
  }

  void set_up(const Family& family, const Values& values, std::uint64_t seed) override {
    release();
    explained([&] {
      PeerGroup* const peers = peers_of(family);
      if (peers) peers->make_room(buffer_bytes(family, family.make_problem(values).get()));
      problem_.emplace(family, values, seed, device_, stream_, peers);
      verifier_.emplace(family, problem_->problem(), seed, max_reference_operations_);
      if (peers || std::ranges::all_of(problem_->copy().buffers(), &GuardedMemory::is_on_device))
        KeptHostMemory::return_all();
    });
  }

  // Releases the previous group's memory, and then the group.
  void join(const RankPlace& place) override {
    release();
    peers_.reset();
    peers_.emplace(place, index_);
  }

  void poison(const Variant& variant, Mode mode) override {
    problem_->reset(variant, Mode::warm);  // the reference reads the same inputs as a launch
    verifier_->prepare(variant, problem_->copy(), stream_);
    for (std::size_t i = 0; i < problem_->copies_of(variant, mode); ++i)
      problem_->copy(i).poison(poisoned_before(problem_->family(), variant), stream_);
    stream_.synchronize();
  }

  void launch(const Variant& variant, Mode mode) override {
    explained([&] {
      if (spans(*problem_)) peers_->calibrate();
      problem_->prepare(variant);
      clear_state(*problem_, variant, mode);
      const L2SetAside set_aside(problem_->set_aside_bytes(variant));
      wait_for_peers(*problem_);
      problem_->enqueue(variant, mode);
      stream_.synchronize();
    });
  }

  Verification check(const Variant& variant, Mode mode) override {
    Verification result;
    for (std::size_t i = 0; i < problem_->copies_of(variant, mode); ++i)
      verifier_->check(variant, problem_->prepare(variant).launches[i], problem_->copy(i), stream_,
                       result);
    return result;
  }

  SampleTraits warm_up(const Variant& variant, Mode mode, const WarmUp& limits) override {
    const double start_s = steady_seconds();
    for (std::size_t i = 0; i < limits.launches && has_time(i, start_s, limits.seconds); ++i)
      launch(variant, is_captured(mode) ? Mode::warm : mode);
    const PreparedVariant& prepared = problem_->prepare(variant);
    SampleTraits traits;
    traits.gated = is_gated(variant) && !is_back_to_back(mode);
    if (is_flushed(mode)) {
      traits.flushed_bytes = flush_.bytes();
      traits.preparation_us = flush_us_;
    }
    if (mode == Mode::warm) {
      clear_state(*problem_, variant, mode);
      const L2SetAside set_aside(problem_->set_aside_bytes(variant));
      traits.preparation_us = timed_launch_us(*problem_, false, variant, mode);
    }
    if (mode == Mode::graph) {
      if (!prepared.graph) capture(*problem_, variant);
      launch(variant, mode);
      traits.launches = prepared.graph_launches;
      traits.rotated_bytes =
          static_cast<std::int64_t>(prepared.graph_copies) * problem_->copy().bytes();
    }
    if (is_back_to_back(mode)) {
      if (is_captured(mode) && !prepared.back_to_back) capture_back_to_back(variant);
      launch(variant, mode);
      traits.launches = launches_of(prepared, mode);
    }
    if (overlap(prepared.launches.front())) {
      clear_state(*problem_, variant, mode);
      wait_for_peers(*problem_);
      traits.timeline = prepared.launches.front().timeline();
    }
    return traits;
  }

  void sample(const std::vector<const Variant*>& sequence, Mode mode,
              const SampleTaken& taken) override {
    stop_counting();
    if (spans(*problem_)) explained([&] { peers_->calibrate(); });
    const Variant* last = nullptr;
    for (std::size_t i = 0; i < sequence.size(); ++i) {
      const Variant& variant = *sequence[i];
      PreparedVariant& prepared = problem_->prepare(variant);
      // A priming launch fills the caches if another variant ran before or persisting lines were
      // reset.
      const std::int64_t set_aside_bytes = problem_->set_aside_bytes(variant);
      const bool is_primed = mode == Mode::warm && (last != &variant || set_aside_bytes > 0);
      const L2SetAside set_aside(set_aside_bytes);
      Sample sample;
      explained([&] {
        if (is_primed) {
          clear_state(*problem_, variant, mode);
          wait_for_peers(*problem_);
          problem_->enqueue(variant, mode);
        }
        clear_state(*problem_, variant, mode);
        sample = timed_sample(variant, prepared, mode);
      });
      last = &variant;
      busy_us_ += (is_primed ? 2 : 1) * prepared.last_us + (is_flushed(mode) ? flush_us_ : 0);
      taken(i, sample);
    }
  }

  SampleTraits sample_from_first(const Variant& variant, Mode mode, int launches,
                                 const SampleTaken& taken) override {
    SampleTraits traits;
    if (is_flushed(mode)) traits.flushed_bytes = flush_.bytes();
    problem_->allocate(variant);
    for (int i = 0; i < launches; ++i) {
      clear_state(*problem_, variant, mode);
      taken(static_cast<std::size_t>(i),
            {host_clock_us(stream_, [&] { problem_->enqueue(variant, mode); })});
    }
    return traits;
  }

  std::vector<double> sample_floor(Mode mode, int samples) override {
    stop_counting();
    return floor_times_us(stream_, timer_, mode, samples, [&] {
      if (is_flushed(mode)) flush_.enqueue(stream_, false);
    });
  }

  void sustain(const std::vector<const Variant*>& sequence, Mode mode, double seconds) override {
    // The host enqueues a round while the previous round runs, so that the GPU does not idle
    // between rounds.
    std::array<CudaEvent, 2> ends;
    const double start_s = steady_seconds();
    explained([&] {
      for (std::size_t round = 0; has_time(round, start_s, seconds); ++round) {
        for (const Variant* variant : sequence) {
          const L2SetAside set_aside(problem_->set_aside_bytes(*variant));
          wait_for_peers(*problem_);
          problem_->reset(*variant, mode);
          wait_for_peers(*problem_);
          problem_->enqueue(*variant, mode);
          if (problem_->set_aside_bytes(*variant) > 0) stream_.synchronize();
        }
        ends[round % 2].record(stream_);
        if (round > 0) ends[(round - 1) % 2].synchronize();
      }
      stream_.synchronize();
    });
    busy_us_ += 1e6 * (steady_seconds() - start_s);
  }

  void start_clock() override {
    sm_clock_.start(stream_);
    busy_us_ = 0;
  }

  std::optional<ClockReading> sm_clock() override {
    const double elapsed_us = 1e6 * sm_clock_.elapsed_s();
    if (elapsed_us < 1e6 * SmClock::kShortestS) return std::nullopt;
    const double busy_us = std::exchange(busy_us_, 0.0);
    const auto mhz = sm_clock_.mhz(stream_);
    return mhz ? std::optional(ClockReading{*mhz, busy_us / elapsed_us}) : std::nullopt;
  }

  MetricValues measured_metrics(const Variant& variant) override {
    if (!variant.measured_metrics) return {};
    const Measurement measurement =
        variant.measured_metrics(problem_->problem(), problem_->copy().data(),
                                 problem_->context(problem_->prepare(variant)));
    enqueue(measurement.steps, stream_);
    stream_.synchronize();
    std::vector<unsigned char> copied(static_cast<std::size_t>(measurement.bytes));
    GPUEXP_CUDA(cudaMemcpy(copied.data(), measurement.from, copied.size(), cudaMemcpyDefault));
    return measurement.values(copied.data());
  }

  CounterSupport counter_support(const std::vector<std::string>& metrics) override try {
    return {"", counters().unknown(metrics)};
  } catch (const CountersUnavailable& reason) {
    return {reason.what(), {}};
  }

  std::vector<LaunchCounts> count(const std::vector<CountedLaunch>& launches, std::uint64_t seed,
                                  const std::vector<std::string>& metrics) override {
    release();
    std::deque<ProblemLaunches> problems;
    std::vector<HardwareCounters::Launch> counted;
    const CountedLaunch* last = nullptr;
    std::vector<LaunchCounts> counts;
    explained([&] {
      for (const CountedLaunch& launch : launches) {
        if (!last || launch.family != last->family || launch.values != last->values)
          problems.emplace_back(*launch.family, launch.values, seed, device_, stream_,
                                peers_of(*launch.family));
        last = &launch;
        counted.push_back(counted_launch(problems.back(), launch));
      }
      counts = counters().count(metrics, counted);
    });
    if (peers_) peers_->released();
    return counts;
  }

  // CUPTI counts the first kernel after SourceCounters is created.
  std::vector<CountedInstruction> count_source(const CountedLaunch& launch, std::uint64_t seed,
                                               std::size_t kernel) override try {
    release();
    if (launch.family->gpus) throw DeviceError(kNotCounted, DeviceFault::refused);
    ProblemLaunches problem(*launch.family, launch.values, seed, device_, stream_);
    const PreparedVariant& prepared = problem.prepare(*launch.variant);
    problem.reset(*launch.variant, Mode::warm);
    std::optional<SourceCounters> counters;
    std::size_t place = 0;
    prepared.launches.front().enqueue_each([&](const Step& step) {
      const auto* launched = std::get_if<KernelStep>(&step.action);
      if (!launched || launched->shape.grid.count() == 0 || place++ != kernel) return;
      GPUEXP_CUDA(cudaDeviceSynchronize());
      counters.emplace();
    });
    stream_.synchronize();
    return counters ? counters->read() : std::vector<CountedInstruction>{};
  } catch (const CountersUnavailable& reason) {
    throw DeviceError(reason.what(), DeviceFault::refused);
  }

  // A lost context affects the whole process: only another process can recover.
  bool recover() override { return false; }
  bool restart() override { return false; }

  LaunchTimer* timer() override { return this; }
  CounterReader* counter_reader() override { return this; }
  SourceCounterReader* source_counter_reader() override { return this; }
  RankMember* rank_member() override { return this; }
  ProfilerControl* profiler() override { return this; }
  void start_profiler() override { GPUEXP_CUDA(cudaProfilerStart()); }
  // Ignores errors, so that the profile up to a fault is kept.
  void stop_profiler() override { GPUEXP_CUDA_NOEXCEPT(cudaProfilerStop()); }

 private:

  static bool is_flushed(Mode mode) { return mode == Mode::cold || mode == Mode::profile; }
  bool is_gated(const Variant& variant) const {
    return timer_.can_gate() && variant.timing == Timing::gated;
  }

  PeerGroup* peers_of(const Family& family) {
    if (!family.gpus) return nullptr;
    if (!peers_)
      throw DeviceError(family.id + " spans several GPUs, and this executor has one",
                        DeviceFault::refused);
    return &*peers_;
  }
  bool spans(const ProblemLaunches& problem) const {
    return static_cast<bool>(problem.family().gpus);
  }

  /// True for the first round, and while less than `seconds` have passed. All ranks follow rank 0.
  bool has_time(std::size_t round, double start_s, double seconds) {
    if (round == 0) return true;
    const bool goes_on = steady_seconds() - start_s < seconds;
    return spans(*problem_) ? peers_->exchange().from_first(goes_on ? 1 : 0) != 0 : goes_on;
  }

  /// If the problem spans GPUs, the stream waits until all ranks have reached this call.
  void wait_for_peers(const ProblemLaunches& problem) {
    if (spans(problem)) peers_->queue_barrier(stream_);
  }

  /// Runs the function. If a barrier or a launch waited too long for a rank, which ends the
  /// context, throws an error that names the missing rank.
  template <class Function>
  void explained(const Function& function) {
    try {
      function();
    } catch (const CudaError&) {
      if (peers_) peers_->explain();
      throw;
    }
  }

  bool overlap(const PreparedSteps& steps) {
    return spans(*problem_) ? peers_->exchange().is_any(steps.overlap()) : steps.overlap();
  }

  void release() {
    if (problem_ && problem_->persists()) GPUEXP_CUDA(cudaCtxResetPersistingL2Cache());
    if (peers_) peers_->released();
    verifier_.reset();
    problem_.reset();
  }

  /// Prepares a launch for counting, after all lazy initialization. The problem must outlive the
  /// result.
  HardwareCounters::Launch counted_launch(ProblemLaunches& problem, const CountedLaunch& launch) {
    const Variant& variant = *launch.variant;
    // For back-to-back modes, one launch is counted, on the caches that previous launches left.
    const Mode mode = is_back_to_back(launch.mode) ? Mode::warm : launch.mode;
    {
      const L2SetAside set_aside(problem.set_aside_bytes(variant));
      clear_state(problem, variant, Mode::warm);
      problem.enqueue(variant, Mode::warm);
      stream_.synchronize();
    }
    if (mode == Mode::graph) capture(problem, variant);
    const int launches = is_flushed(mode) ? 0 : priming_launches(problem, variant, mode);
    // L2 stays set aside until the counted launch ends.
    const auto set_aside = std::make_shared<std::optional<L2SetAside>>();
    const auto leave_caches = [this, &problem, &variant, mode, launches, set_aside] {
      set_aside->emplace(problem.set_aside_bytes(variant));
      clear_state(problem, variant, mode);
      for (int i = 0; i < launches; ++i) {
        problem.enqueue(variant, mode);
        clear_state(problem, variant, mode);
      }
      stream_.synchronize();
    };
    const PreparedSteps& steps = problem.prepare(variant).launches.front();
    const auto launch_counted = [this, &steps, set_aside] {
      steps.enqueue_each();
      stream_.synchronize();
      set_aside->reset();
    };
    // Ranges are expensive, and a launch of more kernels repeats a few kernels, so all of its
    // kernels share one range.
    constexpr std::size_t kMaxRanges = 256;
    const bool as_one =
        steps.overlap() || steps.launches_kernels() || steps.size() > kMaxRanges || spans(problem);
    return {leave_caches, launch_counted, as_one};
  }

  /// Number of launches after which L2 is in the state that it has before a sample.
  int priming_launches(ProblemLaunches& problem, const Variant& variant, Mode mode) {
    // The first launches leave only a part of the data that L2 can keep. With gather_sequential and
    // 24 MiB on an H200, 80 % of sectors hit after one launch, 93 % after two, 97 % after four, and
    // 98 % after eight or sixteen.
    constexpr int kMax = 8;
    constexpr double kMinPrimingUs = 1000;
    clear_state(problem, variant, mode);
    const double us = timed_launch_us(problem, false, variant, mode);
    const int launches = std::clamp(static_cast<int>(kMinPrimingUs / us), 1, kMax);
    // All ranks must launch the same number of times.
    return spans(problem) ? static_cast<int>(peers_->exchange().from_first(launches)) : launches;
  }

  HardwareCounters& counters() {
    if (!counters_) counters_.emplace();
    return *counters_;
  }

  // No reported sample may be timed while the profiler is active. A warm-up may: its times are only
  // estimates, and a run of several counted rows warms up each row.
  void stop_counting() {
    if (counters_) counters_->release();
  }

  void clear_state(ProblemLaunches& problem, const Variant& variant, Mode mode) {
    wait_for_peers(problem);  // another rank's last launch may still read the buffers
    problem.reset(variant, mode);
    if (is_flushed(mode)) flush_.enqueue(stream_, problem.persists());
  }

  void capture(ProblemLaunches& problem, const Variant& variant) {
    clear_state(problem, variant, Mode::warm);
    problem.capture(variant, timed_launch_us(problem, false, variant, Mode::warm));
  }

  // A sample must be long compared with the host's time to start a replay and to notice its end.
  void capture_back_to_back(const Variant& variant) {
    constexpr double kSampleUs = 1e4;
    clear_state(*problem_, variant, Mode::warm);
    const double us = timed_launch_us(*problem_, false, variant, Mode::warm);
    const auto wanted = static_cast<int>(
        std::clamp(std::ceil(kSampleUs / (kBackToBackLaunches * us)), 1.0, 1.0 * kMaxReplays));
    problem_->capture_back_to_back(
        variant,
        spans(*problem_) ? static_cast<int>(peers_->exchange().from_first(wanted)) : wanted);
  }

  // Reads the clock before and after a long launch, outside the events: at the power limit, the
  // variants of a group run at different clocks.
  Sample timed_sample(const Variant& variant, PreparedVariant& prepared, Mode mode) {
    constexpr double kLongUs = 500;
    const bool is_long = prepared.last_us >= kLongUs;
    if (is_long) sample_clock_.start(stream_);
    if (variant.timing == Timing::host_clock || is_back_to_back(mode)) {
      // The priming launch loads the host's caches, as a long series of launches does.
      if (mode == Mode::back_to_back) problem_->enqueue(variant, mode);
      wait_for_peers(*problem_);
      prepared.last_us = host_clock_us(stream_, [&] { problem_->enqueue(variant, mode); });
    } else {
      prepared.last_us = timed_launch_us(*problem_, is_gated(variant), variant, mode);
    }
    Sample sample{prepared.last_us / launches_of(prepared, mode)};
    if (spans(*problem_)) sample.start_ns = peers_->released_ns();
    if (is_long) sample.sm_clock_mhz = sample_clock_.mhz(stream_);
    return sample;
  }

  double timed_launch_us(ProblemLaunches& problem, bool gated, const Variant& variant, Mode mode) {
    return timer_.time_us(
        stream_, gated, variant.id, [&] { problem.enqueue(variant, mode); },
        [&] { wait_for_peers(problem); });
  }

  template <class Queue>
  double timed_us(bool gated, const std::string& what, const Queue& queue) {
    return timer_.time_us(stream_, gated, what, queue);
  }

  int index_;
  DeviceSpec device_;
  double max_reference_operations_;
  EventTimer timer_;
  CudaStream stream_;
  SmClock sm_clock_;      ///< clock during a series of samples
  SmClock sample_clock_;  ///< clock during one long sample
  CacheFlush flush_;
  double flush_us_ = std::numeric_limits<double>::infinity();  ///< minimum time of a flush
  double busy_us_ = 0;  ///< GPU time of launches and flushes since sm_clock_ was read
  std::optional<HardwareCounters> counters_;  ///< created on first use

  std::optional<PeerGroup> peers_;          ///< the group that join() has joined
  std::optional<ProblemLaunches> problem_;  ///< the set-up problem
  std::optional<Verifier> verifier_;
};

}  // namespace

std::unique_ptr<Executor> make_cuda_executor(int device_index, const DeviceSpec& device,
                                             const CudaOptions& options) {
  GPUEXP_CUDA(cudaSetDevice(device_index));
  return std::make_unique<CudaExecutor>(device_index, device, options);
}

}  // namespace gpuexp
