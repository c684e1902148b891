#include "gpu/nvml.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <dlfcn.h>

#include "core/steady_clock.hpp"

namespace gpuexp {

namespace {

// The part of NVML's stable C interface that is used (NVML API Reference Guide, device queries).
// Declared here because toolkits do not always bring nvml.h, and the library belongs to the driver,
// not to the toolkit.
using Device = void*;
constexpr int kSuccess = 0;
constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;
constexpr int kTemperatureGpu = 0;
constexpr double kWattsPerMilliwatt = 1e-3;

class Library {
 public:
  Library() : handle_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    ready_ = call<int()>("nvmlInit_v2") == kSuccess;
  }
  ~Library() {
    if (ready_) call<int()>("nvmlShutdown");
    if (handle_) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  bool ready() const { return ready_; }

  /// The function's status, or -1 when this library does not have it.
  template <class Signature, class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    auto* f = handle_ ? reinterpret_cast<Signature*>(dlsym(handle_, name)) : nullptr;
    return f ? f(arguments...) : -1;
  }

  template <class Signature, class... Arguments>
  std::optional<unsigned> number(const char* name, Arguments... arguments) const {
    unsigned value = 0;
    if (call<Signature>(name, arguments..., &value) != kSuccess) return std::nullopt;
    return value;
  }

 private:
  void* handle_;
  bool ready_ = false;
};

std::optional<double> watts(std::optional<unsigned> milliwatts) {
  if (!milliwatts) return std::nullopt;
  return *milliwatts * kWattsPerMilliwatt;
}

/// The bits of nvmlClocksEventReasons that mean a clock below what was asked for.
constexpr std::array<std::pair<unsigned long long, const char*>, 5> kClockReasons{
    {{0x04, "sw_power_cap"},
     {0x08, "hw_slowdown"},
     {0x20, "sw_thermal_slowdown"},
     {0x40, "hw_thermal_slowdown"},
     {0x80, "hw_power_brake_slowdown"}}};

unsigned long long clock_reasons(const Library& nvml, Device device) {
  using Query = int(Device, unsigned long long*);
  unsigned long long reasons = 0;
  // Drivers before 535 have the older name alone.
  for (const char* name :
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}) {
    if (nvml.call<Query>(name, device, &reasons) == kSuccess) return reasons;
  }
  return 0;
}

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
  const Library nvml;
  Device device = nullptr;
  if (!nvml.ready() || nvml.call<int(const char*, Device*)>("nvmlDeviceGetHandleByUUID",
                                                            uuid.c_str(), &device) != kSuccess)
    return;
  using Query = int(Device, unsigned*);
  using KindQuery = int(Device, int, unsigned*);
  const auto read = [&](const char* name, int kind) -> std::optional<double> {
    const auto value = nvml.number<KindQuery>(name, device, kind);
    return value ? std::optional<double>(*value) : std::nullopt;
  };
  while (!stop.stop_requested()) {
    Reading reading{};
    reading.sm_clock_mhz = read("nvmlDeviceGetClockInfo", kClockSm);
    reading.memory_clock_mhz = read("nvmlDeviceGetClockInfo", kClockMemory);
    reading.power_w = watts(nvml.number<Query>("nvmlDeviceGetPowerUsage", device));
    reading.temperature_c = read("nvmlDeviceGetTemperature", kTemperatureGpu);
    reading.reasons = clock_reasons(nvml, device);
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
  for (const auto& [bit, name] : kClockReasons) {
    if (reasons & bit) t.clock_reasons.emplace_back(name);
  }
  return t;
}

NvmlReadings read_nvml(const std::string& uuid) noexcept {
  NvmlReadings r;
  const Library nvml;
  if (!nvml.ready()) return r;
  char version[96] = {};
  if (nvml.call<int(char*, unsigned)>("nvmlSystemGetDriverVersion", version,
                                      static_cast<unsigned>(sizeof version)) == kSuccess) {
    r.driver_version = version;
  }
  Device device = nullptr;
  if (nvml.call<int(const char*, Device*)>("nvmlDeviceGetHandleByUUID", uuid.c_str(), &device) !=
      kSuccess) {
    return r;
  }
  using Query = int(Device, unsigned*);
  using ClockQuery = int(Device, int, unsigned*);
  r.sm_clock_mhz = nvml.number<ClockQuery>("nvmlDeviceGetClockInfo", device, kClockSm);
  r.sm_clock_max_mhz = nvml.number<ClockQuery>("nvmlDeviceGetMaxClockInfo", device, kClockSm);
  r.memory_clock_mhz = nvml.number<ClockQuery>("nvmlDeviceGetClockInfo", device, kClockMemory);
  r.temperature_c = nvml.number<ClockQuery>("nvmlDeviceGetTemperature", device, kTemperatureGpu);
  r.power_w = watts(nvml.number<Query>("nvmlDeviceGetPowerUsage", device));
  r.power_limit_w = watts(nvml.number<Query>("nvmlDeviceGetEnforcedPowerLimit", device));
  unsigned current = 0;
  unsigned pending = 0;
  if (nvml.call<int(Device, unsigned*, unsigned*)>("nvmlDeviceGetEccMode", device, &current,
                                                   &pending) == kSuccess) {
    r.ecc_enabled = current != 0;
  }
  return r;
}

}  // namespace gpuexp
