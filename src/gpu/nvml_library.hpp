// NVML, the driver's management library, called by name through its stable C interface (NVML API
// Reference Guide), read-only. nvml.h is not used, because some toolkits lack it. NVML needs no
// CUDA context.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <dlfcn.h>

namespace gpuexp::nvml {

using Device = void*;

inline constexpr int kSuccess = 0;
inline constexpr int kInsufficientSize = 7;
inline constexpr int kClockSm = 1;
inline constexpr int kClockMemory = 2;

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

  /// The function's status; -1 if the library lacks the function.
  template <class Signature, class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    auto* f = handle_ ? reinterpret_cast<Signature*>(dlsym(handle_, name)) : nullptr;
    return f ? f(arguments...) : -1;
  }

  std::optional<Device> device(const std::string& uuid) const {
    Device found = nullptr;
    if (!ready_ || call<int(const char*, Device*)>("nvmlDeviceGetHandleByUUID", uuid.c_str(),
                                                   &found) != kSuccess)
      return std::nullopt;
    return found;
  }

 private:
  void* handle_;
  bool ready_ = false;
};

struct ClockReason {
  unsigned long long bit;
  const char* name;
  bool is_slowdown;  ///< the clock is below the requested clock although the GPU is busy
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

class Gpu {
 public:
  Gpu(const Library& library, Device device) : library_(library), device_(device) {}

  template <class Signature, class... Arguments>
  int status_of(const char* name, Arguments... arguments) const {
    return library_.call<Signature>(name, device_, arguments...);
  }
  template <class Signature, class... Arguments>
  bool call(const char* name, Arguments... arguments) const {
    return status_of<Signature>(name, arguments...) == kSuccess;
  }

  std::optional<unsigned> number(const char* name) const {
    unsigned value = 0;
    return call<int(Device, unsigned*)>(name, &value) ? std::optional(value) : std::nullopt;
  }
  std::optional<unsigned> number_of(const char* name, int kind) const {
    unsigned value = 0;
    return call<int(Device, int, unsigned*)>(name, kind, &value) ? std::optional(value)
                                                                 : std::nullopt;
  }
  std::optional<bool> flag(const char* name) const {
    const auto value = number(name);
    return value ? std::optional(*value != 0) : std::nullopt;
  }
  std::optional<int> integer(const char* name) const {
    const auto value = number(name);
    return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
  }
  std::optional<double> watts(const char* name) const {
    constexpr double kMilliwattsPerWatt = 1000;
    const auto value = number(name);
    return value ? std::optional(*value / kMilliwattsPerWatt) : std::nullopt;
  }
  /// Instantaneous power. nvmlDeviceGetPowerUsage, the fallback for older drivers, is the mean over
  /// the last second on Ampere and later, and may include an earlier load.
  std::optional<double> power_now_w() const {
    struct FieldValue {  // nvmlFieldValue_t
      unsigned field;
      unsigned scope;
      long long timestamp;
      long long latency_us;
      int type;
      int status;
      unsigned long long value;  // a union; this field uses the first bytes as an unsigned
    };
    constexpr unsigned kPowerInstant = 186;
    constexpr double kMilliwattsPerWatt = 1000;
    FieldValue field{};
    field.field = kPowerInstant;
    const bool known = call<int(Device, int, FieldValue*)>("nvmlDeviceGetFieldValues", 1, &field);
    if (!known || field.status != kSuccess) return watts("nvmlDeviceGetPowerUsage");
    return static_cast<double>(static_cast<unsigned>(field.value)) / kMilliwattsPerWatt;
  }
  /// MHz; empty also for NVML's 0, which means unknown.
  std::optional<double> clock(const char* name, int kind) const {
    const auto value = number_of(name, kind);
    return value && *value > 0 ? std::optional<double>(*value) : std::nullopt;
  }
  std::optional<double> temperature_c() const {
    constexpr int kOfGpu = 0;
    const auto value = number_of("nvmlDeviceGetTemperature", kOfGpu);
    return value ? std::optional<double>(*value) : std::nullopt;
  }
  /// Bits of kClockReasons. Drivers before 535 have only the older name of the function.
  std::optional<unsigned long long> clock_reasons() const {
    unsigned long long reasons = 0;
    for (const char* name :
         {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}) {
      if (call<int(Device, unsigned long long*)>(name, &reasons)) return reasons;
    }
    return std::nullopt;
  }

 private:
  const Library& library_;
  Device device_;
};

/// The GPU with this CUDA UUID ("GPU-…"), or the GPU that contains this MIG instance.
struct FoundGpu {
  Gpu gpu;
  bool is_mig_instance;
};

inline std::optional<FoundGpu> find_gpu(const Library& library, const std::string& uuid) {
  if (const auto whole = library.device(uuid)) return FoundGpu{{library, *whole}, false};
  // CUDA reports a MIG instance's UUID with the prefix "GPU-".
  constexpr std::string_view kGpu = "GPU-";
  if (uuid.rfind(kGpu, 0) != 0) return std::nullopt;
  const auto instance = library.device("MIG-" + uuid.substr(kGpu.size()));
  if (!instance) return std::nullopt;
  Device parent = nullptr;
  const bool has_parent =
      Gpu(library, *instance)
          .call<int(Device, Device*)>("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", &parent);
  return FoundGpu{{library, has_parent ? parent : *instance}, true};
}

}  // namespace gpuexp::nvml
