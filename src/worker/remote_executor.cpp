#include "worker/remote_executor.hpp"

#include <system_error>

#include <fmt/format.h>

#include "base/channel.hpp"
#include "base/json.hpp"
#include "base/steady_clock.hpp"
#include "worker/wire.hpp"

namespace gpuexp {

namespace {

// After an interrupt, a request gets this time to finish.
constexpr double kInterruptedPatienceS = 2.0;
// Timeout of most requests, in multiples of launch_timeout_s.
constexpr double kRequestLaunches = 40.0;
// Creating a context takes seconds on machines with many GPUs.
constexpr double kGreetingTimeoutS = 60.0;

std::vector<std::string> ids_of(const std::vector<const Variant*>& sequence) {
  std::vector<std::string> ids;
  for (const Variant* variant : sequence)
    ids.push_back(variant->id);
  return ids;
}

}  // namespace

class RemoteExecutor::Call {
 public:
  Call(RemoteExecutor& remote, const char* call) : remote_(remote), what_(call) {
    request_["call"] = call;
  }

  template <class T>
  Call& with(const char* name, const T& value) {
    request_[name] = value;
    return *this;
  }
  Call& of(const Variant& variant) {
    what_ += " of " + variant.id;
    return with("variant", variant.id);
  }
  Call& in(Mode mode) { return with("mode", std::string(name_of(mode))); }

  void send() {
    if (!remote_.worker_) throw DeviceError("no worker is running", DeviceFault::lost);
    try {
      remote_.worker_->send(request_.dump());
    } catch (const ChannelClosed&) {
      // If the worker has ended, receive() reports its last answer or how it ended.
    }
  }

  struct Part {
    std::optional<Sample> sample;
    Json done;
  };
  Part receive(double launches) {
    return receive_within(launches * remote_.options_.launch_timeout_s);
  }
  Part receive_within(double timeout_s) {
    const Json json = Json::parse(remote_.receive(timeout_s, what_));
    if (json.is_array() || !json.contains("error")) remote_.has_answered_ = true;
    if (json.is_array()) return {from_listed<Sample>(json), {}};
    if (json.contains("done")) return {std::nullopt, json.at("done")};
    const DeviceError error = wire::error_from(json.at("error"));
    if (error.device_lost()) remote_.worker_.reset();
    throw error;
  }

  /// Passes samples to `taken` and returns the content of "done". Each sample may take as long as
  /// `launches_each` launches.
  Json samples(double launches_each, const SampleTaken& taken) {
    std::size_t place = 0;
    Part part = receive(launches_each);
    for (; part.sample; part = receive(launches_each))
      taken(place++, *part.sample);
    return part.done;
  }

  Json result(double launches) {
    send();
    return receive(launches).done;
  }

  /// For a request that computes references, which is no launch of the measured kernel: a row whose
  /// references take too long has failed, but its kernel has not exceeded its time.
  Json result_of_reference() {
    send();
    try {
      return receive_within(remote_.options_.reference_timeout_s).done;
    } catch (const DeviceError& error) {
      if (error.fault() != DeviceFault::timed_out) throw;
      throw DeviceError(
          fmt::format("the expected values were not computed within {:.0f} s ({}); choose a "
                      "smaller problem, or another check or reference",
                      remote_.options_.reference_timeout_s, what_),
          DeviceFault::lost);
    }
  }

 private:
  RemoteExecutor& remote_;
  Json request_;
  std::string what_;
};

RemoteExecutor::RemoteExecutor(RemoteOptions options)
    : options_(std::move(options)), greeting_(start()) {}

std::string RemoteExecutor::start() {
  try {
    worker_ = options_.start();
  } catch (const std::system_error& error) {
    throw DeviceError(fmt::format("cannot start a worker process: {}", error.what()),
                      DeviceFault::lost);
  }
  std::string greeting = receive(kGreetingTimeoutS, "greeting");
  if (is_profiled_) start_profiler();
  return greeting;
}

bool RemoteExecutor::recover() {
  if (!has_answered_ && !options_.simulated) return false;
  has_answered_ = false;
  try {
    start();
  } catch (const DeviceError&) {
    return false;
  }
  return true;
}

bool RemoteExecutor::restart() {
  worker_.reset();
  start();
  return true;
}

std::string RemoteExecutor::receive(double timeout_s, const std::string& what) {
  const double start_s = steady_seconds();
  double interrupted_s = 0;
  const auto give_up = [&] {
    if (options_.abandoned()) return true;
    if (interrupted_s == 0 && options_.interrupted()) interrupted_s = steady_seconds();
    return interrupted_s > 0 &&
           (options_.simulated || steady_seconds() - interrupted_s > kInterruptedPatienceS);
  };
  try {
    if (auto line = worker_->receive(timeout_s, give_up)) return *std::move(line);
  } catch (const ChannelClosed&) {
    const WorkerProcess::Ending ending = worker_->end();
    lose(fmt::format("the worker process ended during {}: {}", what, ending.how),
         ending.killed ? DeviceFault::killed : DeviceFault::lost);
  }
  if (options_.abandoned())
    lose(fmt::format("{} was stopped because another rank was lost", what), DeviceFault::peer_lost);
  if (interrupted_s > 0 && options_.simulated) lose("interrupted", DeviceFault::interrupted);
  if (interrupted_s > 0) {
    lose(fmt::format("interrupted during {}, which did not end within {} s", what,
                     kInterruptedPatienceS),
         DeviceFault::interrupted);
  }
  lose(fmt::format("{} did not end within {:.0f} s; --launch-timeout allows more time", what,
                   steady_seconds() - start_s),
       DeviceFault::timed_out);
}

void RemoteExecutor::lose(const std::string& what, DeviceFault fault) {
  worker_.reset();
  throw DeviceError(what, fault);
}

void RemoteExecutor::join(const RankPlace& place) {
  Call(*this, "join")
      .with("rank", place.rank)
      .with("ranks", place.ranks)
      .with("meeting", place.meeting)
      .result(kRequestLaunches);
}

void RemoteExecutor::start_profiler() {
  is_profiled_ = true;
  Call(*this, "start_profiler").result(kRequestLaunches);
}

// Ignores a lost worker, so that the profile up to a fault is kept.
void RemoteExecutor::stop_profiler() {
  is_profiled_ = false;
  if (worker_) Call(*this, "stop_profiler").result(kRequestLaunches);
}

void RemoteExecutor::set_up(const Family& family, const Values& values, std::uint64_t seed) {
  Call(*this, "set_up")
      .with("family", family.id)
      .with("values", wire::to_json(family, values))
      .with("seed", seed)
      .result(kRequestLaunches);
}

void RemoteExecutor::poison(const Variant& variant, Mode mode) {
  Call(*this, "poison").of(variant).in(mode).result_of_reference();
}

void RemoteExecutor::launch(const Variant& variant, Mode mode) {
  Call(*this, "launch").of(variant).in(mode).result(1);
}

Verification RemoteExecutor::check(const Variant& variant, Mode mode) {
  return from_listed<Verification>(Call(*this, "check").of(variant).in(mode).result_of_reference());
}

SampleTraits RemoteExecutor::warm_up(const Variant& variant, Mode mode, const WarmUp& limits) {
  const int to_capture = is_back_to_back(mode) ? 1 + kBackToBackLaunches : 3;
  return from_listed<SampleTraits>(Call(*this, "warm_up")
                                       .of(variant)
                                       .in(mode)
                                       .with("launches", limits.launches)
                                       .with("seconds", limits.seconds)
                                       .result(static_cast<int>(limits.launches) + to_capture));
}

void RemoteExecutor::sample(const std::vector<const Variant*>& sequence, Mode mode,
                            const SampleTaken& taken) {
  Call call(*this, "sample");
  call.in(mode).with("sequence", ids_of(sequence)).send();
  constexpr double kPrimingAndTimed = 2;
  call.samples(kPrimingAndTimed * (is_back_to_back(mode) ? kBackToBackLaunches : 1), taken);
}

SampleTraits RemoteExecutor::sample_from_first(const Variant& variant, Mode mode, int launches,
                                               const SampleTaken& taken) {
  Call call(*this, "sample_from_first");
  call.of(variant).in(mode).with("launches", launches).send();
  return from_listed<SampleTraits>(call.samples(1, taken));
}

void RemoteExecutor::sustain(const std::vector<const Variant*>& sequence, Mode mode,
                             double seconds) {
  constexpr double kRoundsInFlight = 2;
  const double for_seconds = 1 + seconds / options_.launch_timeout_s;  // timeout, in launches
  Call(*this, "sustain")
      .in(mode)
      .with("sequence", ids_of(sequence))
      .with("seconds", seconds)
      .result(for_seconds + kRoundsInFlight * static_cast<double>(sequence.size()));
}

std::vector<double> RemoteExecutor::sample_floor(Mode mode, int samples) {
  return Call(*this, "sample_floor")
      .in(mode)
      .with("samples", samples)
      .result(kRequestLaunches)
      .get<std::vector<double>>();
}

void RemoteExecutor::start_clock() {
  Call(*this, "start_clock").result(1);
}

std::optional<ClockReading> RemoteExecutor::sm_clock() {
  return from_listed<std::optional<ClockReading>>(Call(*this, "sm_clock").result(1));
}

MetricValues RemoteExecutor::measured_metrics(const Variant& variant) {
  return from_listed<MetricValues>(
      Call(*this, "measured_metrics").of(variant).result(kRequestLaunches));
}

CounterSupport RemoteExecutor::counter_support(const std::vector<std::string>& metrics) {
  return from_listed<CounterSupport>(
      Call(*this, "counter_support").with("metrics", metrics).result(kRequestLaunches));
}

std::vector<LaunchCounts> RemoteExecutor::count(const std::vector<CountedLaunch>& launches,
                                                std::uint64_t seed,
                                                const std::vector<std::string>& metrics) {
  // Timeout: the passes of the first row may take dozens of launches, each further row one launch.
  Json requests = Json::array();
  for (const CountedLaunch& launch : launches)
    requests.push_back(wire::to_json(launch));
  return from_listed<std::vector<LaunchCounts>>(
      Call(*this, "count")
          .with("launches", requests)
          .with("seed", seed)
          .with("metrics", metrics)
          .result(kRequestLaunches + static_cast<double>(launches.size())));
}

std::vector<CountedInstruction> RemoteExecutor::count_source(const CountedLaunch& launch,
                                                             std::uint64_t seed,
                                                             std::size_t kernel) {
  // CUPTI's patched code takes about a dozen times as long as the original code.
  return from_listed<std::vector<CountedInstruction>>(Call(*this, "count_source")
                                                          .with("launch", wire::to_json(launch))
                                                          .with("seed", seed)
                                                          .with("kernel", kernel)
                                                          .result(2 * kRequestLaunches));
}

}  // namespace gpuexp
