#include "run/session.hpp"

#include <cmath>
#include <utility>

#include "run/host_refusal.hpp"
#include "stats/statistics.hpp"

namespace gpuexp {

Session::Session(Executor& executor, Tracer& tracer, RunObserver& observer,
                 const RunOptions& options, bool simulated, std::function<double()> now_s)
    : executor_(executor),
      tracer_(tracer),
      observer_(observer),
      options_(options),
      simulated_(simulated),
      now_s_(std::move(now_s)) {}

void Session::measure_floor(Mode mode) {
  constexpr int kSamples = 50;
  if (interrupted() || unrecoverable_) return;
  const TraceRange range(tracer_, "floor");
  try {
    floors_us_[mode] = timer().sample_floor(mode, kSamples);
  } catch (const DeviceError& error) {
    failed(error);
    floors_us_.erase(mode);
    return;
  }
  observer_.floor_measured(mode, floors_us_[mode]);
}

std::optional<double> Session::floor_us(Mode mode) const {
  const auto found = floors_us_.find(mode);
  if (found == floors_us_.end() || found->second.empty()) return std::nullopt;
  return summarize(found->second, 0).median;
}

double Session::quantum_us(Mode mode, int launches) const {
  const auto found = floors_us_.find(Mode::warm);
  if (found == floors_us_.end() || is_back_to_back(mode)) return 0.0;
  return timer_quantum_us(found->second) / launches;
}

void Session::require_device() {
  if (!lost_) return;
  if (unrecoverable_ || !executor_.recover()) {
    unrecoverable_ = true;
    throw DeviceGone(loss());
  }
  lost_ = false;
  observer_.recovered(lost_reason_);
}

std::string Session::loss() const {
  return (simulated_ ? "the process that simulated the GPU ended before: "
                     : "the device was lost before: ") +
         lost_reason_;
}

void Session::set_up(const Family& family, const Values& values) {
  require_device();
  if (set_up_ && family_ == &family && values_ == values) return;
  const TraceRange range(tracer_, "set-up");
  set_up_ = false;
  ++epoch_;
  timed(&RunTimes::set_up, [&] { executor_.set_up(family, values, options_.seed); });
  set_up_ = true;
  family_ = &family;
  values_ = values;
}

std::vector<LaunchCounts> Session::count(const std::vector<CountedLaunch>& launches,
                                         const std::vector<std::string>& metrics) {
  require_device();
  set_up_ = false;
  ++epoch_;
  std::vector<LaunchCounts> counts;
  timed(&RunTimes::counters, [&] {
    counts = with_host_refusals(
        [&] { return executor_.counter_reader()->count(launches, options_.seed, metrics); });
  });
  return counts;
}

void Session::run_back_to_back(const std::vector<const Variant*>& variants, Mode mode,
                               double seconds) {
  // Split into short calls, so that an interrupt takes effect between them.
  constexpr double kStretchS = 0.1;
  const int stretches = static_cast<int>(std::ceil(seconds / kStretchS));
  timed(&RunTimes::sustain, [&] {
    for (int i = 0; i < stretches && end_reason().empty(); ++i)
      timer().sustain(variants, mode, seconds / stretches);
  });
}

bool Session::restart() {
  set_up_ = false;
  ++epoch_;
  bool has_restarted = false;
  timed(&RunTimes::restart, [&] { has_restarted = executor_.restart(); });
  return has_restarted;
}

void Session::failed(const DeviceError& error) {
  set_up_ = false;
  ++epoch_;
  if (!error.device_lost()) return;
  lost_ = true;
  lost_reason_ = error.what();
}

std::string Session::end_reason() {
  if (unrecoverable_) return loss();
  return interrupted() ? "interrupted" : "";
}

bool Session::interrupted() {
  interrupted_ = interrupted_ || options_.interrupted();
  return interrupted_;
}

}  // namespace gpuexp
