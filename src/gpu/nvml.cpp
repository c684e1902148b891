#include "gpu/nvml.hpp"

#include <algorithm>

#include "core/steady_clock.hpp"
#include "gpu/nvml_library.hpp"

namespace gpuexp {

namespace {

using nvml::Device;
using nvml::kSuccess;

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
  const auto device = library.device(uuid);
  if (!device) return;
  using Query = int(Device, unsigned*);
  using KindQuery = int(Device, int, unsigned*);
  const auto read = [&](const char* name, int kind) -> std::optional<double> {
    const auto value = library.number<KindQuery>(name, *device, kind);
    return value ? std::optional<double>(*value) : std::nullopt;
  };
  while (!stop.stop_requested()) {
    Reading reading{};
    reading.sm_clock_mhz = read("nvmlDeviceGetClockInfo", nvml::kClockSm);
    reading.memory_clock_mhz = read("nvmlDeviceGetClockInfo", nvml::kClockMemory);
    reading.power_w = nvml::watts(library.number<Query>("nvmlDeviceGetPowerUsage", *device));
    reading.temperature_c = read("nvmlDeviceGetTemperature", nvml::kTemperatureGpu);
    reading.reasons = nvml::clock_reasons(library, *device).value_or(0);
    reading.at_s = steady_seconds();
    std::unique_lock lock(mutex_);
    readings_.push_back(reading);
    stopped_.wait_for(lock, stop, kPeriod, [] { return false; });
  }
}

Telemetry NvmlSampler::between(double from_s, double to_s) const {
  const std::lock_guard lock(mutex_);
  const auto at = [](const Reading& reading, double s) { return reading.at_s < s; };
  auto begin = std::lower_bound(readings_.begin(), readings_.end(), from_s, at);
  const auto end = std::lower_bound(begin, readings_.end(), to_s, at);
  if (begin == end && begin != readings_.begin()) --begin;
  Telemetry t;
  unsigned long long reasons = 0;
  Mean power_w;
  Mean sm_clock_mhz;
  for (auto reading = begin; reading != end; ++reading) {
    reasons |= reading->reasons;
    power_w.add(reading->power_w);
    sm_clock_mhz.add(reading->sm_clock_mhz);
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

NvmlReadings read_nvml(const std::string& uuid) noexcept {
  NvmlReadings r;
  const nvml::Library library;
  if (!library.ready()) return r;
  char version[96] = {};
  if (library.call<int(char*, unsigned)>("nvmlSystemGetDriverVersion", version,
                                         static_cast<unsigned>(sizeof version)) == kSuccess) {
    r.driver_version = version;
  }
  const auto device = library.device(uuid);
  if (!device) return r;
  using Query = int(Device, unsigned*);
  using ClockQuery = int(Device, int, unsigned*);
  r.sm_clock_mhz = library.number<ClockQuery>("nvmlDeviceGetClockInfo", *device, nvml::kClockSm);
  r.sm_clock_max_mhz =
      library.number<ClockQuery>("nvmlDeviceGetMaxClockInfo", *device, nvml::kClockSm);
  r.memory_clock_mhz =
      library.number<ClockQuery>("nvmlDeviceGetClockInfo", *device, nvml::kClockMemory);
  r.temperature_c =
      library.number<ClockQuery>("nvmlDeviceGetTemperature", *device, nvml::kTemperatureGpu);
  r.power_w = nvml::watts(library.number<Query>("nvmlDeviceGetPowerUsage", *device));
  r.power_limit_w = nvml::watts(library.number<Query>("nvmlDeviceGetEnforcedPowerLimit", *device));
  unsigned current = 0;
  unsigned pending = 0;
  if (library.call<int(Device, unsigned*, unsigned*)>("nvmlDeviceGetEccMode", *device, &current,
                                                      &pending) == kSuccess) {
    r.ecc_enabled = current != 0;
  }
  return r;
}

}  // namespace gpuexp
