#include "gpu/device_state.hpp"

#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "gpu/nvml_library.hpp"

namespace gpuexp {

namespace {

using nvml::Device;
using nvml::Library;

/// Queries of one GPU.
class Query {
 public:
  Query(const Library& library, Device device) : library_(library), device_(device) {}

  std::optional<unsigned> number(const char* name) const {
    return library_.number<int(Device, unsigned*)>(name, device_);
  }
  std::optional<unsigned> number_of(const char* name, int kind) const {
    return library_.number<int(Device, int, unsigned*)>(name, device_, kind);
  }
  std::optional<bool> flag(const char* name) const {
    const auto value = number(name);
    return value ? std::optional(*value != 0) : std::nullopt;
  }
  std::optional<int> integer(const char* name) const {
    const auto value = number(name);
    return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
  }
  /// Empty for 0 as well, which stands for a clock that is not known.
  std::optional<double> clock(const char* name, int kind) const {
    const auto value = number_of(name, kind);
    return value && *value > 0 ? std::optional<double>(*value) : std::nullopt;
  }

  template <class Signature, class... Arguments>
  bool call(const char* name, Arguments... arguments) const {
    return library_.call<Signature>(name, device_, arguments...) == nvml::kSuccess;
  }

  const Library& library() const { return library_; }
  Device device() const { return device_; }

 private:
  const Library& library_;
  Device device_;
};

/// CUDA gives a MIG instance's UUID the prefix of a whole GPU.
std::optional<Device> find_device(const Library& library, const std::string& uuid,
                                  bool& is_mig_instance) {
  if (const auto whole = library.device(uuid)) return whole;
  constexpr std::string_view kGpu = "GPU-";
  if (!uuid.starts_with(kGpu)) return std::nullopt;
  const auto instance = library.device("MIG-" + uuid.substr(kGpu.size()));
  if (!instance) return std::nullopt;
  is_mig_instance = true;
  Device parent = nullptr;
  const bool found =
      library.call<int(Device, Device*)>("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", *instance,
                                         &parent) == nvml::kSuccess;
  return found ? parent : *instance;
}

void read_memory(const Query& query, DeviceState& s) {
  using Modes = int(Device, unsigned*, unsigned*);
  unsigned current = 0;
  unsigned next = 0;
  if (query.call<Modes>("nvmlDeviceGetEccMode", &current, &next)) {
    s.ecc_on = current != 0;
    s.ecc_on_next = next != 0;
  }
  s.ecc_on_by_default = query.flag("nvmlDeviceGetDefaultEccMode");
  const auto uncorrected = [&](int counter) -> std::optional<std::uint64_t> {
    constexpr int kUncorrected = 1;
    unsigned long long count = 0;
    if (!query.call<int(Device, int, int, unsigned long long*)>("nvmlDeviceGetTotalEccErrors",
                                                                kUncorrected, counter, &count))
      return std::nullopt;
    return count;
  };
  constexpr int kVolatile = 0;
  constexpr int kAggregate = 1;
  s.uncorrected_errors = uncorrected(kVolatile);
  s.uncorrected_errors_lifetime = uncorrected(kAggregate);
  unsigned corrected_rows = 0;
  unsigned uncorrected_rows = 0;
  unsigned pending = 0;
  unsigned failed = 0;
  if (query.call<int(Device, unsigned*, unsigned*, unsigned*, unsigned*)>(
          "nvmlDeviceGetRemappedRows", &corrected_rows, &uncorrected_rows, &pending, &failed)) {
    s.row_remap_pending = pending != 0;
    s.row_remap_failed = failed != 0;
  }
  s.page_retirement_pending = query.flag("nvmlDeviceGetRetiredPagesPendingStatus");
}

// Newer drivers tell the distance alone, older ones the threshold (which those for Ada and later
// mean to drop).
std::optional<double> slowdown_margin(const Query& query, std::optional<double> temperature_c) {
  struct Margin {
    unsigned version;
    int margin_c;
  };
  constexpr unsigned kVersion = 1U << 24;
  Margin margin{static_cast<unsigned>(sizeof(Margin)) | kVersion, 0};
  if (query.call<int(Device, Margin*)>("nvmlDeviceGetMarginTemperature", &margin))
    return margin.margin_c;
  constexpr int kSlowdown = 1;
  const auto threshold = query.number_of("nvmlDeviceGetTemperatureThreshold", kSlowdown);
  if (!threshold || *threshold == 0 || !temperature_c) return std::nullopt;
  return *threshold - *temperature_c;
}

void read_power(const Query& query, DeviceState& s) {
  s.power_w = nvml::watts(query.number("nvmlDeviceGetPowerUsage"));
  s.power_limit_w = nvml::watts(query.number("nvmlDeviceGetEnforcedPowerLimit"));
  s.power_limit_default_w = nvml::watts(query.number("nvmlDeviceGetPowerManagementDefaultLimit"));
  const auto temperature = query.number_of("nvmlDeviceGetTemperature", nvml::kTemperatureGpu);
  if (temperature) s.temperature_c = *temperature;
  s.slowdown_margin_c = slowdown_margin(query, s.temperature_c);
}

void read_clocks(const Query& query, DeviceState& s) {
  s.sm_clock_mhz = query.clock("nvmlDeviceGetClockInfo", nvml::kClockSm);
  s.sm_clock_max_mhz = query.clock("nvmlDeviceGetMaxClockInfo", nvml::kClockSm);
  s.sm_clock_max_boost_mhz = query.clock("nvmlDeviceGetMaxCustomerBoostClock", nvml::kClockSm);
  s.sm_clock_set_mhz = query.clock("nvmlDeviceGetApplicationsClock", nvml::kClockSm);
  s.sm_clock_set_by_default_mhz =
      query.clock("nvmlDeviceGetDefaultApplicationsClock", nvml::kClockSm);
  s.memory_clock_mhz = query.clock("nvmlDeviceGetClockInfo", nvml::kClockMemory);
  s.memory_clock_max_mhz = query.clock("nvmlDeviceGetMaxClockInfo", nvml::kClockMemory);
  constexpr int kSlowestState = 15;
  s.performance_state = query.integer("nvmlDeviceGetPerformanceState");
  if (s.performance_state > kSlowestState) s.performance_state.reset();
  const auto reasons = nvml::clock_reasons(query.library(), query.device());
  if (!reasons) return;
  s.clock_reasons.emplace();
  for (const nvml::ClockReason& reason : nvml::kClockReasons) {
    if (*reasons & reason.bit) s.clock_reasons->emplace_back(reason.name);
  }
}

void read_link(const Query& query, DeviceState& s) {
  s.pcie_generation = query.integer("nvmlDeviceGetCurrPcieLinkGeneration");
  s.pcie_generation_max = query.integer("nvmlDeviceGetMaxPcieLinkGeneration");
  s.pcie_generation_gpu_max = query.integer("nvmlDeviceGetGpuMaxPcieLinkGeneration");
  s.pcie_width = query.integer("nvmlDeviceGetCurrPcieLinkWidth");
  s.pcie_width_max = query.integer("nvmlDeviceGetMaxPcieLinkWidth");
}

/// nvmlProcessInfo_t of the functions whose names end in _v2 and _v3.
struct Process {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};

std::optional<std::vector<Process>> processes(const Query& query, const char* name) {
  using List = int(Device, unsigned*, Process*);
  constexpr unsigned kMore = 16;  // may have come between the two calls
  unsigned count = 0;
  const int status = query.library().call<List>(name, query.device(), &count, nullptr);
  if (status == nvml::kSuccess) return std::vector<Process>{};
  if (status != nvml::kInsufficientSize) return std::nullopt;
  count += kMore;
  std::vector<Process> found(count);
  if (!query.call<List>(name, &count, found.data())) return std::nullopt;
  found.resize(count);
  return found;
}

void read_sharing(const Query& query, DeviceState& s) {
  unsigned current = 0;
  unsigned next = 0;
  if (query.call<int(Device, unsigned*, unsigned*)>("nvmlDeviceGetMigMode", &current, &next))
    s.mig_on = current != 0;
  s.persistence_on = query.flag("nvmlDeviceGetPersistenceMode");
  constexpr std::array<const char*, 4> kModes{"default", "exclusive_thread", "prohibited",
                                              "exclusive_process"};
  const auto mode = query.number("nvmlDeviceGetComputeMode");
  if (mode && *mode < kModes.size()) s.compute_mode = kModes[*mode];
  std::set<unsigned> seen;  // a process may compute and draw
  for (const char* name :
       {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v3"}) {
    const auto found = processes(query, name);
    if (!found) continue;
    s.processes = s.processes.value_or(0);
    for (const Process& process : *found) {
      if (!seen.insert(process.pid).second) continue;
      ++*s.processes;
      if (process.bytes == ~0ULL) continue;  // not available
      s.process_bytes = s.process_bytes.value_or(0) + static_cast<std::int64_t>(process.bytes);
    }
  }
}

}  // namespace

DeviceState read_device_state(const std::string& uuid) noexcept {
  DeviceState s;
  const Library library;
  const auto device = find_device(library, uuid, s.is_mig_instance);
  if (!device) return s;
  const Query query(library, *device);
  read_memory(query, s);
  read_power(query, s);
  read_clocks(query, s);
  read_link(query, s);
  read_sharing(query, s);
  return s;
}

}  // namespace gpuexp
