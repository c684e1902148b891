#include "gpu/cuda_executor.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <deque>
#include <map>
#include <utility>

#include <cuda_profiler_api.h>

#include "base/steady_clock.hpp"
#include "gpu/cuda_graph.hpp"
#include "gpu/device_ops.hpp"
#include "gpu/event_timer.hpp"
#include "gpu/hardware_counters.hpp"
#include "gpu/launcher.hpp"
#include "gpu/problem_copy.hpp"
#include "gpu/resources.hpp"
#include "gpu/sm_clock.hpp"
#include "gpu/verifier.hpp"

namespace gpuexp {

namespace {

// Replacement in L2 is not strictly least-recently-used, so one L2's worth of reads leaves
// survivors.
constexpr std::int64_t kFlushFactor = 2;

// A replay is long enough for its one start and stop not to matter, and short enough for many.
constexpr double kReplayUs = 1e3;
constexpr double kLongestReplayUs = 1e5;
constexpr std::int64_t kMostGraphLaunches = 1000;
constexpr std::int64_t kMostCopies = 256;

/// What launches of a variant on the problem at hand need.
struct Prepared {
  DeviceMemory workspace;
  std::vector<PreparedSteps> launches;  ///< on each copy of the buffers that they take in turn
  std::unique_ptr<CapturedLaunches> graph;
  int graph_launches = 1;
  double last_us = 0;            ///< what its last sample took in all; 0 before the first
  std::size_t graph_copies = 1;  ///< that its launches take in turn
};

class CudaExecutor final : public Executor,
                           public LaunchTimer,
                           public CounterReader,
                           public ProfilerControl {
 public:
  CudaExecutor(const DeviceSpec& device, bool gated)
      : device_(device),
        timer_(gated),
        stream_(typical_stream(timer_)),
        sm_clock_(device.sm_count),
        sample_clock_(device.sm_count),
        flush_buffer_(ceil_div(kFlushFactor * device.l2_bytes, 16) * 16),
        sink_(sizeof(unsigned)) {
    GPUEXP_CUDA(
        cudaMemset(flush_buffer_.get(), 0, static_cast<std::size_t>(flush_buffer_.bytes())));
    GPUEXP_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 2; ++i)  // the first loads the kernel
      flush_us_ = timed_us(false, "the flush", [&] { flush(); });
  }

  void set_up(const Family& family, const Values& values, std::uint64_t seed) override {
    prepared_.clear();
    copies_.clear();
    verifier_.reset();
    family_ = &family;
    problem_ = family.make_problem(values);
    seed_ = seed;
    need_copies(1);
    verifier_.emplace(family, problem_.get());
  }

  void poison(const Variant& variant, Mode mode) override {
    copies_.front().reset(stream_);  // the reference reads what launches find
    verifier_->prepare(variant, copies_.front(), stream_);
    for (std::size_t i = 0; i < copies_of(variant, mode); ++i)
      copies_[i].poison(written_by(*family_, variant), stream_);
    stream_.synchronize();
  }

  void launch(const Variant& variant, Mode mode) override {
    Prepared& prepared = prepare(variant);
    clear_state(variant, mode);
    queue(prepared, mode);
    stream_.synchronize();
  }

  Verification check(const Variant& variant, Mode mode) override {
    Verification result;
    for (std::size_t i = 0; i < copies_of(variant, mode); ++i)
      verifier_->check(variant, copies_[i], stream_, result);
    return result;
  }

  SampleTraits warm_up(const Variant& variant, Mode mode, int launches) override {
    for (int i = 0; i < launches; ++i)
      launch(variant, mode == Mode::graph ? Mode::warm : mode);
    Prepared& prepared = prepare(variant);
    SampleTraits traits;
    traits.gated = is_gated(variant);
    if (is_flushed(mode)) {
      traits.flushed_bytes = flush_buffer_.bytes();
      traits.preparation_us = flush_us_;
    }
    if (mode == Mode::warm) {
      clear_state(variant, mode);
      traits.preparation_us = timed_us(false, variant.id, [&] { queue(prepared, mode); });
    }
    if (mode == Mode::graph) {
      if (!prepared.graph) capture(variant, prepared);
      launch(variant, mode);
      traits.launches = prepared.graph_launches;
      traits.rotated_bytes =
          static_cast<std::int64_t>(prepared.graph_copies) * copies_.front().bytes();
    }
    return traits;
  }

  void sample(const std::vector<const Variant*>& sequence, Mode mode,
              const SampleTaken& taken) override {
    stop_counting();
    const Variant* last = nullptr;
    for (std::size_t i = 0; i < sequence.size(); ++i) {
      const Variant& variant = *sequence[i];
      Prepared& prepared = prepare(variant);
      // What ran before has left its own data in the caches.
      if (mode == Mode::warm && last != &variant) {
        clear_state(variant, mode);
        queue(prepared, mode);
      }
      const bool is_primed = mode == Mode::warm && last != &variant;
      last = &variant;
      clear_state(variant, mode);
      const Sample sample = timed_sample(variant, prepared, mode);
      busy_us_ += (is_primed ? 2 : 1) * prepared.last_us + (is_flushed(mode) ? flush_us_ : 0);
      taken(i, sample);
    }
  }

  SampleTraits sample_from_first(const Variant& variant, Mode mode, int launches,
                                 const SampleTaken& taken) override {
    SampleTraits traits;
    if (is_flushed(mode)) traits.flushed_bytes = flush_buffer_.bytes();
    allocate(variant);
    for (int i = 0; i < launches; ++i) {
      clear_state(variant, mode);
      taken(static_cast<std::size_t>(i),
            {on_host_clock_us([&] { queue(prepare(variant), mode); })});
    }
    return traits;
  }

  std::vector<double> sample_floor(Mode mode, int samples) override {
    stop_counting();
    const auto launches = static_cast<int>(mode == Mode::graph ? kMostGraphLaunches : 1);
    const auto queue_one = [&] { queue_empty_kernel(stream_.get()); };
    queue_one();
    stream_.synchronize();
    std::unique_ptr<CapturedLaunches> graph;
    if (mode == Mode::graph) {
      graph = std::make_unique<CapturedLaunches>(stream_, [&] {
        for (int i = 0; i < launches; ++i)
          queue_one();
      });
      graph->replay(stream_);
    }
    std::vector<double> times_us;
    for (int i = 0; i < samples; ++i) {
      if (is_flushed(mode)) flush();
      const double us = timed_us(timer_.can_gate(), "an empty kernel", [&] {
        if (graph) {
          graph->replay(stream_);
        } else {
          queue_one();
        }
      });
      times_us.push_back(us / launches);
    }
    return times_us;
  }

  void sustain(const std::vector<const Variant*>& sequence, Mode mode, double seconds) override {
    // One round is queued behind the one that runs, so that the GPU waits for nobody.
    std::array<CudaEvent, 2> ends;
    const double start_s = steady_seconds();
    for (std::size_t round = 0; round == 0 || steady_seconds() - start_s < seconds; ++round) {
      for (const Variant* variant : sequence) {
        for (std::size_t i = 0; i < copies_of(*variant, mode); ++i)
          copies_[i].reset(stream_);
        queue(prepare(*variant), mode);
      }
      ends[round % 2].record(stream_);
      if (round > 0) ends[(round - 1) % 2].synchronize();
    }
    stream_.synchronize();
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
        variant.measured_metrics(problem_.get(), copies_.front().data(), context(prepare(variant)));
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

  LaunchCounts count(const Variant& variant, Mode mode,
                     const std::vector<std::string>& metrics) override {
    Prepared& prepared = prepare(variant);
    const auto leave_caches = [&] {
      clear_state(variant, mode);
      if (!is_flushed(mode)) {
        queue(prepared, mode);
        clear_state(variant, mode);
      }
      stream_.synchronize();
    };
    return counters().count(metrics, leave_caches, [&] {
      prepared.launches.front().enqueue();
      stream_.synchronize();
    });
  }

  // A context that is lost takes the process's other work with it; only another process helps.
  bool recover() override { return false; }
  bool restart() override { return false; }

  LaunchTimer* timer() override { return this; }
  CounterReader* counter_reader() override { return this; }
  ProfilerControl* profiler() override { return this; }
  void start_profiler() override { GPUEXP_CUDA(cudaProfilerStart()); }
  // Whether or not the device is still there: what was profiled before a fault is worth having.
  void stop_profiler() override { GPUEXP_CUDA_NOEXCEPT(cudaProfilerStop()); }

 private:
  static bool is_flushed(Mode mode) { return mode == Mode::cold || mode == Mode::profile; }
  bool is_gated(const Variant& variant) const {
    return timer_.can_gate() && variant.timing == Timing::gated;
  }

  /// Copies that launches in the mode write to.
  std::size_t copies_of(const Variant& variant, Mode mode) {
    return mode == Mode::graph ? prepare(variant).graph_copies : 1;
  }

  void need_copies(std::size_t count) {
    while (copies_.size() < count)
      copies_.emplace_back(*family_, problem_.get(), seed_, stream_);
  }

  HardwareCounters& counters() {
    if (!counters_) counters_.emplace();
    return *counters_;
  }

  // What is timed to be kept finds no profiler in force. Warming up times launches as well, only to
  // know about how long they take, and leaves it: a run counts row after row, and warms up each.
  void stop_counting() {
    if (counters_) counters_->release();
  }

  Prepared& allocate(const Variant& variant) {
    const auto [entry, is_new] = prepared_.try_emplace(&variant);
    if (is_new && variant.workspace_bytes)
      entry->second.workspace = DeviceMemory(variant.workspace_bytes(problem_.get(), device_));
    return entry->second;
  }

  // Shapes and workspace are the variant's own and are looked up once, not between the events.
  Prepared& prepare(const Variant& variant) {
    Prepared& prepared = allocate(variant);
    if (prepared.launches.empty()) prepare_launches(variant, prepared, 1);
    return prepared;
  }

  void prepare_launches(const Variant& variant, Prepared& prepared, std::size_t copies) {
    for (std::size_t i = prepared.launches.size(); i < copies; ++i) {
      prepared.launches.emplace_back(
          variant.launch(problem_.get(), copies_[i].data(), context(prepared)), stream_);
    }
  }

  /// Everything before a launch that is not timed.
  void clear_state(const Variant& variant, Mode mode) {
    for (std::size_t i = 0; i < copies_of(variant, mode); ++i)
      copies_[i].reset(stream_);
    if (is_flushed(mode)) flush();
  }

  void flush() {
    GPUEXP_CUDA(cudaCtxResetPersistingL2Cache());
    queue_cache_flush(flush_buffer_.get(), flush_buffer_.bytes(), sink_.as<unsigned>(),
                      stream_.get());
  }

  void queue(const Prepared& prepared, Mode mode) {
    if (mode == Mode::graph) {
      prepared.graph->replay(stream_);
    } else {
      prepared.launches.front().enqueue();
    }
  }

  LaunchContext context(const Prepared& prepared) const {
    return {device_, prepared.workspace.get()};
  }

  // As many launches as fill a replay, over enough copies to leave nothing of one in L2 when its
  // turn comes again; where a copy has to be reset before each launch, each has one.
  void capture(const Variant& variant, Prepared& prepared) {
    clear_state(variant, Mode::warm);
    const double launch_us =
        std::max(0.1, timed_us(false, variant.id, [&] { prepared.launches.front().enqueue(); }));
    const std::int64_t bytes = std::max<std::int64_t>(1, copies_.front().bytes());
    const std::int64_t most = std::clamp<std::int64_t>(
        static_cast<std::int64_t>(kLongestReplayUs / launch_us), 1, kMostGraphLaunches);
    const std::int64_t copies =
        std::min({ceil_div(kFlushFactor * device_.l2_bytes, bytes), kMostCopies, most});
    const auto wanted = static_cast<std::int64_t>(std::ceil(kReplayUs / launch_us));
    const std::int64_t turns = family_->reset ? 1 : ceil_div(std::min(wanted, most), copies);
    need_copies(static_cast<std::size_t>(copies));
    prepare_launches(variant, prepared, static_cast<std::size_t>(copies));
    prepared.graph_copies = static_cast<std::size_t>(copies);
    prepared.graph_launches = static_cast<int>(turns * copies);
    prepared.graph = std::make_unique<CapturedLaunches>(stream_, [&] {
      for (int i = 0; i < prepared.graph_launches; ++i)
        prepared.launches[static_cast<std::size_t>(i) % prepared.graph_copies].enqueue();
    });
  }

  // The clock that a long launch has is its own: at the power limit, each variant of a group runs
  // at another one. It is read before and after, outside the events.
  Sample timed_sample(const Variant& variant, Prepared& prepared, Mode mode) {
    constexpr double kLongUs = 500;
    const bool is_long = prepared.last_us >= kLongUs;
    if (is_long) sample_clock_.start(stream_);
    const auto enqueue_launch = [&] { queue(prepared, mode); };
    prepared.last_us = variant.timing == Timing::host_clock
                           ? on_host_clock_us(enqueue_launch)
                           : timed_us(is_gated(variant), variant.id, enqueue_launch);
    const int launches = mode == Mode::graph ? prepared.graph_launches : 1;
    Sample sample{prepared.last_us / launches};
    if (is_long) sample.sm_clock_mhz = sample_clock_.mhz(stream_);
    return sample;
  }

  template <class Queue>
  double timed_us(bool gated, const std::string& what, const Queue& queue) {
    return timer_.time_us(stream_, gated, what, queue);
  }

  /// From before the launch is enqueued until the GPU has done it.
  template <class Queue>
  double on_host_clock_us(const Queue& queue) {
    stream_.synchronize();
    const auto start = std::chrono::steady_clock::now();
    queue();
    stream_.synchronize();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
        .count();
  }

  DeviceSpec device_;
  EventTimer timer_;
  CudaStream stream_;
  SmClock sm_clock_;      ///< over rounds
  SmClock sample_clock_;  ///< over one long sample
  DeviceMemory flush_buffer_;
  DeviceMemory sink_;
  double flush_us_ = 0;                       ///< what a flush takes
  double busy_us_ = 0;                        ///< of what was sampled since sm_clock_ was read
  std::optional<HardwareCounters> counters_;  ///< once asked for

  const Family* family_ = nullptr;
  std::shared_ptr<const void> problem_;
  std::uint64_t seed_ = 0;
  std::deque<ProblemCopy> copies_;  ///< the first is what every mode but graph uses
  std::optional<Verifier> verifier_;
  std::map<const Variant*, Prepared> prepared_;  ///< on this problem
};

}  // namespace

std::unique_ptr<Executor> make_cuda_executor(int device_index, const DeviceSpec& device,
                                             bool gated) {
  GPUEXP_CUDA(cudaSetDevice(device_index));
  return std::make_unique<CudaExecutor>(device, gated);
}

}  // namespace gpuexp
