#include "gpu/nvml.hpp"

#include <dlfcn.h>

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

}  // namespace

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
