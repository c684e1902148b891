#include "gpu/nvml_sampler.hpp"

#include <algorithm>

#include "base/steady_clock.hpp"
#include "gpu/nvml_library.hpp"

namespace gpuexp {

namespace {

class Mean {
 public:
  void add(std::optional<double> x) {
    if (!x) return;
    sum_ += *x;
    ++count_;
  }
  std::optional<double> value() const {
    return count_ > 0 ? std::optional(sum_ / count_) : std::nullopt;
  }

 private:
  double sum_ = 0;
  int count_ = 0;
};

}  // namespace

NvmlSampler::NvmlSampler(const std::string& uuid)
    : thread_([this, uuid](const std::stop_token& stop) { read_until(stop, uuid); }) {}

NvmlSampler::~NvmlSampler() = default;

void NvmlSampler::read_until(const std::stop_token& stop, const std::string& uuid) {
  const nvml::Library library;
  const auto found = nvml::find_gpu(library, uuid);
  if (!found) return;
  const nvml::Gpu& gpu = found->gpu;
  while (!stop.stop_requested()) {
    Reading reading{};
    reading.sm_clock_mhz = gpu.clock("nvmlDeviceGetClockInfo", nvml::kClockSm);
    reading.memory_clock_mhz = gpu.clock("nvmlDeviceGetClockInfo", nvml::kClockMemory);
    reading.power_w = gpu.power_now_w();
    reading.power_limit_w = gpu.watts("nvmlDeviceGetEnforcedPowerLimit");
    reading.temperature_c = gpu.temperature_c();
    reading.reasons = gpu.clock_reasons().value_or(0);
    reading.at_s = steady_seconds();
    std::unique_lock lock(mutex_);
    readings_.push_back(reading);
    stopped_.wait_for(lock, stop, kPeriod, [] { return false; });
  }
}

Telemetry NvmlSampler::between(double from_s, double to_s) const {
  const std::lock_guard lock(mutex_);
  const auto at = [](const Reading& reading, double s) { return reading.at_s < s; };
  const auto begin = std::lower_bound(readings_.begin(), readings_.end(), from_s, at);
  const auto end = std::lower_bound(begin, readings_.end(), to_s, at);
  Telemetry t;
  unsigned long long reasons = 0;
  Mean power_w;
  Mean sm_clock_mhz;
  for (auto reading = begin; reading != end; ++reading) {
    reasons |= reading->reasons;
    power_w.add(reading->power_w);
    sm_clock_mhz.add(reading->sm_clock_mhz);
    if (reading->power_limit_w) t.power_limit_w = reading->power_limit_w;
    t.temperature_c = std::max(t.temperature_c, reading->temperature_c);
    const auto& clock = reading->memory_clock_mhz;
    if (clock) t.memory_clock_mhz = std::min(*clock, t.memory_clock_mhz.value_or(*clock));
  }
  t.power_w = power_w.value();
  t.sm_clock_mhz = sm_clock_mhz.value();
  for (const nvml::ClockReason& reason : nvml::kClockReasons) {
    if (reason.is_slowdown && (reasons & reason.bit)) t.clock_reasons.emplace_back(reason.name);
  }
  return t;
}

}  // namespace gpuexp
