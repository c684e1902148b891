#include "model/host_time.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "family/step.hpp"

namespace gpuexp {

namespace {

constexpr double kMicro = 1e6;
constexpr double kNanosPerMicro = 1e3;
constexpr std::size_t kUnits = 4;
constexpr std::array<const char*, kUnits> kNames{"kernel", "copy_to_device", "copy_to_host",
                                                 "other"};

std::size_t index_of(Unit unit) {
  return static_cast<std::size_t>(unit);
}

/// What was enqueued, by the time at which it ends.
class Timeline {
 public:
  Timeline(bool as_graph, double further_us, const Ceilings& ceilings)
      : as_graph_(as_graph),
        further_us_(further_us),
        ceilings_(ceilings),
        call_us_(*ceilings.host_call_ns / kNanosPerMicro),
        // The way of a launch to the GPU, and that of its end to the host.
        way_us_((*ceilings.host_launch_ns / kNanosPerMicro - call_us_) / 2) {}

  void add(const HostedStep& step) {
    if (step.unit == Unit::host) return wait_for(step);
    if (!as_graph_ || steps_.empty()) {
      calls_.push_back({"call", step.stream, host_us_, host_us_ + call_us_});
      host_us_ += call_us_;
    }
    const double ready_us = std::max({host_us_ + way_us_, stream_end(step), ends_of(step.after)});
    double& free_us = free_us_[index_of(step.unit)];
    const double begin_us = std::max(ready_us, free_us);
    const double own_us = duration_us(step, begin_us);
    free_us = begin_us + own_us;
    busy_us_[index_of(step.unit)] += own_us;
    end(step, ready_us, free_us);
  }

  HostTime result() const {
    HostTime time;
    time.timeline = calls_;
    time.timeline.insert(time.timeline.end(), steps_.begin(), steps_.end());
    time.total_us = std::max(host_us_, last_end_us_ + way_us_);
    std::map<std::string, double> alone_us{{"host", call_us_ * static_cast<double>(calls_.size())}};
    for (const Unit copies : {Unit::copy_to_device, Unit::copy_to_host}) {
      if (const double us = busy_us_[index_of(copies)]; us > 0)
        alone_us[kNames[index_of(copies)]] = us;
    }
    time.terms = longest_first(alone_us);
    return time;
  }

 private:
  // The host knows that its stream is done, and only then goes on.
  void wait_for(const HostedStep& step) {
    host_us_ = std::max(host_us_, stream_end(step) + way_us_);
    end(step, host_us_, host_us_);
  }

  void end(const HostedStep& step, double ready_us, double end_us) {
    steps_.push_back({kNames[index_of(step.unit)], step.stream, ready_us, end_us});
    stream_end_us_[step.stream] = end_us;
    if (step.unit == Unit::sms) kernel_end_us_[step.stream] = end_us;
    if (step.unit != Unit::host) last_end_us_ = std::max(last_end_us_, end_us);
  }

  // The legacy default stream waits for all that block with it, and these for it.
  double stream_end(const HostedStep& step) const {
    double end_us = 0;
    for (const auto& [stream, us] : stream_end_us_) {
      const bool blocks = (step.stream == kDefaultStream && stream <= kFirstBlockingStream) ||
                          (step.stream <= kFirstBlockingStream && stream == kDefaultStream);
      if (stream == step.stream || blocks) end_us = std::max(end_us, us);
    }
    return end_us;
  }

  double ends_of(const std::vector<std::size_t>& places) const {
    double end_us = 0;
    for (const std::size_t place : places)
      end_us = std::max(end_us, steps_[place].end_us);
    return end_us;
  }

  double duration_us(const HostedStep& step, double begin_us) const {
    const auto seconds = [&](const std::optional<double>& rate) {
      return static_cast<double>(step.bytes) / *rate;
    };
    switch (step.unit) {
      case Unit::copy_to_device: return seconds(ceilings_.bus_to_device_bytes_per_s) * kMicro;
      case Unit::copy_to_host: return seconds(ceilings_.bus_to_host_bytes_per_s) * kMicro;
      case Unit::sms: {
        // One behind another of its stream starts a while after that has ended.
        const auto before = kernel_end_us_.find(step.stream);
        const bool is_behind =
            before != kernel_end_us_.end() && begin_us <= before->second + further_us_;
        return step.kernel_us + (is_behind ? further_us_ : 0);
      }
      case Unit::host: break;
    }
    return 0;
  }

  bool as_graph_;
  double further_us_;
  const Ceilings& ceilings_;
  double call_us_;
  double way_us_;
  double host_us_ = 0;  ///< when the host may make its next call
  std::array<double, kUnits> free_us_{};
  std::array<double, kUnits> busy_us_{};
  double last_end_us_ = 0;  ///< of what the GPU does
  std::map<int, double> stream_end_us_;
  std::map<int, double> kernel_end_us_;  ///< of the last kernel of a stream
  std::vector<StepTime> calls_;
  std::vector<StepTime> steps_;  ///< by their places
};

}  // namespace

HostTime host_time(const std::vector<HostedStep>& steps, bool as_graph, double further_us,
                   const Ceilings& ceilings) {
  HostTime refused;
  if (!ceilings.host_call_ns || !ceilings.host_launch_ns) {
    refused.refusal = "what calls of the host take beside this device is not known";
    return refused;
  }
  for (const HostedStep& step : steps) {
    const bool copies = step.unit == Unit::copy_to_device || step.unit == Unit::copy_to_host;
    if (copies && (!ceilings.bus_to_device_bytes_per_s || !ceilings.bus_to_host_bytes_per_s)) {
      refused.refusal = "what the bus between host and device delivers is not known";
      return refused;
    }
  }
  Timeline timeline(as_graph, further_us, ceilings);
  for (const HostedStep& step : steps)
    timeline.add(step);
  return timeline.result();
}

}  // namespace gpuexp
