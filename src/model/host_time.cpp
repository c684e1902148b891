#include "model/host_time.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>

#include "family/step.hpp"

namespace gpuexp {

namespace {

constexpr double kMicro = 1e6;
constexpr double kNanosPerMicro = 1e3;
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::array<const char*, 4> kNames{"kernel", "copy_to_device", "copy_to_host", "other"};
constexpr std::array kGpuUnits{Unit::sms, Unit::copy_to_device, Unit::copy_to_host};

std::size_t index_of(Unit unit) {
  return static_cast<std::size_t>(unit);
}
bool is_copy(Unit unit) {
  return unit == Unit::copy_to_device || unit == Unit::copy_to_host;
}

class HostSchedule {
 public:
  HostSchedule(const std::vector<HostedStep>& steps, bool as_graph, double further_us,
               const Ceilings& ceilings)
      : steps_(steps),
        as_graph_(as_graph),
        further_us_(further_us),
        ceilings_(ceilings),
        call_us_(*ceilings.host_call_ns / kNanosPerMicro),
        // Latency from the host's call to the GPU, and from the end of a step to the host.
        one_way_us_((*ceilings.host_launch_ns / kNanosPerMicro - call_us_) / 2),
        change_us_(ceilings.unit_change_ns.value_or(0) / kNanosPerMicro),
        states_(steps.size()) {}

  HostTime run() {
    for (double now_us = 0; now_us < kNever;) {
      call();
      for (const Unit unit : kGpuUnits)
        begin(unit, now_us);
      const double next_us = next_event_us(now_us);
      if (next_us < kNever) progress(next_us - now_us);
      now_us = next_us;
      for (const Unit unit : kGpuUnits)
        end(unit, now_us);
    }
    return result();
  }

 private:
  struct State {
    double arrives_us = kNever;
    double ready_us = kNever;
    double end_us = kNever;
  };
  struct Worker {
    std::optional<std::size_t> step;
    double left = 0;  ///< remaining bytes of a copy, or remaining µs of a kernel
    double free_us = 0;
    std::optional<int> stream;
    double busy_us = 0;
  };

  bool has_ended(std::size_t place) const { return states_[place].end_us < kNever; }

  // The host runs ahead of the GPU until a step makes the host wait.
  void call() {
    for (; next_ < steps_.size(); ++next_) {
      const HostedStep& step = steps_[next_];
      if (step.unit == Unit::host) {
        const auto before = last_of_stream(next_);
        if (before && !has_ended(*before)) return;
        if (before) host_us_ = std::max(host_us_, states_[*before].end_us + one_way_us_);
        states_[next_] = {host_us_, host_us_, host_us_};
        continue;
      }
      if (!as_graph_ || calls_.empty()) {
        calls_.push_back({"call", step.stream, host_us_, host_us_ + call_us_});
        host_us_ += call_us_;
      }
      states_[next_].arrives_us = host_us_ + one_way_us_;
    }
  }

  std::optional<std::size_t> last_of_stream(std::size_t place) const {
    for (std::size_t i = place; i-- > 0;) {
      if (steps_[i].stream == steps_[place].stream) return i;
    }
    return std::nullopt;
  }

  // Whether the legacy default stream orders two steps: it synchronizes with all blocking streams.
  static bool are_ordered(const HostedStep& a, const HostedStep& b) {
    return (a.stream == kDefaultStream && b.stream <= kFirstBlockingStream) ||
           (b.stream == kDefaultStream && a.stream <= kFirstBlockingStream);
  }

  /// When the step has reached the GPU and the steps before it have ended; kNever if one of these
  /// has not ended.
  double ready_us(std::size_t place) const {
    const HostedStep& step = steps_[place];
    double ready = states_[place].arrives_us;
    const auto wait_for = [&](std::size_t other, double gap_us) {
      ready = std::max(ready, states_[other].end_us + gap_us);
    };
    if (const auto before = last_of_stream(place)) {
      const Unit unit = steps_[*before].unit;
      const bool changes = unit != step.unit && unit != Unit::host;
      wait_for(*before, changes ? change_us_ : 0);
    }
    for (const std::size_t other : step.after)
      wait_for(other, 0);
    for (std::size_t i = 0; i < place; ++i) {
      if (are_ordered(steps_[i], step)) wait_for(i, change_us_);
    }
    return ready;
  }

  /// When the step is ready and its unit is free. A copy engine needs time to change to another
  /// stream.
  double may_begin_us(std::size_t place) const {
    const Worker& worker = workers_[index_of(steps_[place].unit)];
    const bool changes =
        is_copy(steps_[place].unit) && worker.stream && *worker.stream != steps_[place].stream;
    return std::max(ready_us(place), worker.free_us + (changes ? change_us_ : 0));
  }

  template <class Visit>
  void for_each_waiting(Unit unit, const Visit& visit) const {
    for (std::size_t i = 0; i < next_; ++i) {
      if (steps_[i].unit == unit && !has_ended(i) && workers_[index_of(unit)].step != i) visit(i);
    }
  }

  void begin(Unit unit, double now_us) {
    Worker& worker = workers_[index_of(unit)];
    if (worker.step) return;
    std::optional<std::size_t> chosen;
    for_each_waiting(unit, [&](std::size_t place) {
      if (!chosen && may_begin_us(place) <= now_us) chosen = place;
    });
    if (!chosen) return;
    const HostedStep& step = steps_[*chosen];
    worker.step = chosen;
    worker.left =
        is_copy(unit) ? static_cast<double>(step.bytes) : step.kernel_us + gap_us(*chosen, now_us);
    states_[*chosen].ready_us = ready_us(*chosen);
  }

  // Time added to a kernel that starts at most further_us_ after the end of the previous kernel in
  // its stream.
  double gap_us(std::size_t place, double now_us) const {
    const auto before = last_of_stream(place);
    const bool follows_kernel = before && steps_[*before].unit == Unit::sms &&
                                now_us <= states_[*before].end_us + further_us_;
    return follows_kernel ? further_us_ : 0;
  }

  /// Decrease of the unit's remaining work per µs.
  double rate(Unit unit) const {
    if (!is_copy(unit)) return 1;
    const bool is_in = unit == Unit::copy_to_device;
    const Unit other = is_in ? Unit::copy_to_host : Unit::copy_to_device;
    const double alone =
        is_in ? *ceilings_.bus_to_device_bytes_per_s : *ceilings_.bus_to_host_bytes_per_s;
    const bool both = workers_[index_of(other)].step.has_value();
    return (both ? std::min(alone, ceilings_.bus_both_bytes_per_s.value_or(alone)) : alone) /
           kMicro;
  }

  double next_event_us(double now_us) const {
    double next = kNever;
    for (const Unit unit : kGpuUnits) {
      const Worker& worker = workers_[index_of(unit)];
      if (worker.step) {
        next = std::min(next, now_us + worker.left / rate(unit));
      } else {
        for_each_waiting(unit,
                         [&](std::size_t place) { next = std::min(next, may_begin_us(place)); });
      }
    }
    return next;
  }

  void progress(double us) {
    std::array<double, kGpuUnits.size()> rates{};
    for (const Unit unit : kGpuUnits)
      rates[index_of(unit)] = rate(unit);
    for (const Unit unit : kGpuUnits) {
      Worker& worker = workers_[index_of(unit)];
      if (!worker.step) continue;
      worker.left -= us * rates[index_of(unit)];
      worker.busy_us += us;
    }
  }

  void end(Unit unit, double now_us) {
    constexpr double kRounding = 1e-6;
    Worker& worker = workers_[index_of(unit)];
    if (!worker.step || worker.left > kRounding * rate(unit)) return;
    states_[*worker.step].end_us = now_us;
    last_end_us_ = std::max(last_end_us_, now_us);
    worker.free_us = now_us;
    worker.stream = steps_[*worker.step].stream;
    worker.step.reset();
  }

  HostTime result() const {
    HostTime time;
    time.total_us = std::max(host_us_, last_end_us_ + one_way_us_);
    time.timeline = calls_;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      time.timeline.push_back({kNames[index_of(steps_[i].unit)], steps_[i].stream,
                               states_[i].ready_us, states_[i].end_us});
    }
    std::map<std::string, double> isolated_us{
        {"host", call_us_ * static_cast<double>(calls_.size())}};
    for (const Unit copies : {Unit::copy_to_device, Unit::copy_to_host}) {
      if (const double us = workers_[index_of(copies)].busy_us; us > 0)
        isolated_us[kNames[index_of(copies)]] = us;
    }
    time.terms = longest_first(isolated_us);
    return time;
  }

  const std::vector<HostedStep>& steps_;
  bool as_graph_;
  double further_us_;
  const Ceilings& ceilings_;
  double call_us_;
  double one_way_us_;
  double change_us_;
  std::vector<State> states_;
  std::size_t next_ = 0;
  double host_us_ = 0;  ///< when the host can make its next call
  double last_end_us_ = 0;
  std::array<Worker, kGpuUnits.size()> workers_;
  std::vector<StepTime> calls_;
};

}  // namespace

HostTime host_time(const std::vector<HostedStep>& steps, bool as_graph, double further_us,
                   const Ceilings& ceilings) {
  HostTime refused;
  if (!ceilings.host_call_ns || !ceilings.host_launch_ns) {
    refused.refusal = "the duration of host calls for this device is not known";
    return refused;
  }
  for (const HostedStep& step : steps) {
    if (is_copy(step.unit) &&
        (!ceilings.bus_to_device_bytes_per_s || !ceilings.bus_to_host_bytes_per_s)) {
      refused.refusal = "the bandwidth between host and device is not known";
      return refused;
    }
  }
  return HostSchedule(steps, as_graph, further_us, ceilings).run();
}

}  // namespace gpuexp
