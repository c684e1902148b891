// NVML's stable C interface (NVML API Reference Guide), called by name. Nothing is taken from
// nvml.h: toolkits do not always bring it, and the library belongs to the driver, not to the
// toolkit.
#pragma once

#include <array>
#include <optional>
#include <string>

#include <dlfcn.h>

namespace gpuexp::nvml {

using Device = void*;

inline constexpr int kSuccess = 0;
inline constexpr int kInsufficientSize = 7;
inline constexpr int kClockSm = 1;
inline constexpr int kClockMemory = 2;
inline constexpr int kTemperatureGpu = 0;

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

  /// The GPU, or the MIG instance, with this UUID.
  std::optional<Device> device(const std::string& uuid) const {
    Device found = nullptr;
    if (!ready_ || call<int(const char*, Device*)>("nvmlDeviceGetHandleByUUID", uuid.c_str(),
                                                   &found) != kSuccess)
      return std::nullopt;
    return found;
  }

  /// The function's status, or -1 when this library does not have it.
  template <class Signature, class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    auto* f = handle_ ? reinterpret_cast<Signature*>(dlsym(handle_, name)) : nullptr;
    return f ? f(arguments...) : -1;
  }

  /// What a function writes through its last parameter, an unsigned or an enumeration.
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

/// NVML has milliwatts.
inline std::optional<double> watts(std::optional<unsigned> milliwatts) {
  constexpr double kWattsPerMilliwatt = 1e-3;
  if (!milliwatts) return std::nullopt;
  return *milliwatts * kWattsPerMilliwatt;
}

/// One of nvmlClocksEventReasons.
struct ClockReason {
  unsigned long long bit;
  const char* name;
  bool is_slowdown;  ///< a clock below what was asked for, of a GPU that has something to do
};
inline constexpr std::array<ClockReason, 9> kClockReasons{
    {{0x001, "gpu_idle", false},
     {0x002, "applications_clocks_setting", false},
     {0x004, "sw_power_cap", true},
     {0x008, "hw_slowdown", true},
     {0x010, "sync_boost", false},
     {0x020, "sw_thermal_slowdown", true},
     {0x040, "hw_thermal_slowdown", true},
     {0x080, "hw_power_brake_slowdown", true},
     {0x100, "display_clock_setting", false}}};

/// The bits of nvmlClocksEventReasons. Drivers before 535 have the function's older name alone.
inline std::optional<unsigned long long> clock_reasons(const Library& library, Device device) {
  using Query = int(Device, unsigned long long*);
  unsigned long long reasons = 0;
  for (const char* name :
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}) {
    if (library.call<Query>(name, device, &reasons) == kSuccess) return reasons;
  }
  return std::nullopt;
}

}  // namespace gpuexp::nvml
