#include "gpu/nvml_state.hpp"

#include <array>
#include <set>

#include "gpu/nvml_library.hpp"

namespace gpuexp {

namespace {

using nvml::Device;
using nvml::Gpu;
using nvml::Library;

void read_memory(const Gpu& gpu, DeviceState& s) {
  using Modes = int(Device, unsigned*, unsigned*);
  unsigned current = 0;
  unsigned next = 0;
  if (gpu.call<Modes>("nvmlDeviceGetEccMode", &current, &next)) {
    s.ecc_on = current != 0;
    s.ecc_on_next = next != 0;
  }
  s.ecc_on_by_default = gpu.flag("nvmlDeviceGetDefaultEccMode");
  const auto uncorrected = [&](int counter) -> std::optional<std::uint64_t> {
    constexpr int kUncorrected = 1;
    unsigned long long count = 0;
    if (!gpu.call<int(Device, int, int, unsigned long long*)>("nvmlDeviceGetTotalEccErrors",
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
  if (gpu.call<int(Device, unsigned*, unsigned*, unsigned*, unsigned*)>(
          "nvmlDeviceGetRemappedRows", &corrected_rows, &uncorrected_rows, &pending, &failed)) {
    s.row_remap_pending = pending != 0;
    s.row_remap_failed = failed != 0;
  }
  s.page_retirement_pending = gpu.flag("nvmlDeviceGetRetiredPagesPendingStatus");
}

// Newer drivers tell the distance alone, older ones the threshold (which those for Ada and later
// mean to drop).
std::optional<double> slowdown_margin(const Gpu& gpu, std::optional<double> temperature_c) {
  struct Margin {
    unsigned version;
    int margin_c;
  };
  constexpr unsigned kVersion = 1U << 24;
  Margin margin{static_cast<unsigned>(sizeof(Margin)) | kVersion, 0};
  if (gpu.call<int(Device, Margin*)>("nvmlDeviceGetMarginTemperature", &margin))
    return margin.margin_c;
  constexpr int kSlowdown = 1;
  const auto threshold = gpu.number_of("nvmlDeviceGetTemperatureThreshold", kSlowdown);
  if (!threshold || *threshold == 0 || !temperature_c) return std::nullopt;
  return *threshold - *temperature_c;
}

void read_power(const Gpu& gpu, DeviceState& s) {
  s.power_w = gpu.watts("nvmlDeviceGetPowerUsage");
  s.power_limit_w = gpu.watts("nvmlDeviceGetEnforcedPowerLimit");
  s.power_limit_default_w = gpu.watts("nvmlDeviceGetPowerManagementDefaultLimit");
  s.temperature_c = gpu.temperature_c();
  s.slowdown_margin_c = slowdown_margin(gpu, s.temperature_c);
}

void read_clocks(const Gpu& gpu, DeviceState& s) {
  s.sm_clock_mhz = gpu.clock("nvmlDeviceGetClockInfo", nvml::kClockSm);
  s.sm_clock_max_mhz = gpu.clock("nvmlDeviceGetMaxClockInfo", nvml::kClockSm);
  s.sm_clock_max_boost_mhz = gpu.clock("nvmlDeviceGetMaxCustomerBoostClock", nvml::kClockSm);
  s.sm_clock_set_mhz = gpu.clock("nvmlDeviceGetApplicationsClock", nvml::kClockSm);
  s.sm_clock_set_by_default_mhz =
      gpu.clock("nvmlDeviceGetDefaultApplicationsClock", nvml::kClockSm);
  s.memory_clock_mhz = gpu.clock("nvmlDeviceGetClockInfo", nvml::kClockMemory);
  s.memory_clock_max_mhz = gpu.clock("nvmlDeviceGetMaxClockInfo", nvml::kClockMemory);
  constexpr int kSlowestState = 15;
  s.performance_state = gpu.integer("nvmlDeviceGetPerformanceState");
  if (s.performance_state > kSlowestState) s.performance_state.reset();
  const auto reasons = gpu.clock_reasons();
  if (!reasons) return;
  s.clock_reasons.emplace();
  for (const nvml::ClockReason& reason : nvml::kClockReasons) {
    if (*reasons & reason.bit) s.clock_reasons->emplace_back(reason.name);
  }
}

void read_link(const Gpu& gpu, DeviceState& s) {
  s.pcie_generation = gpu.integer("nvmlDeviceGetCurrPcieLinkGeneration");
  s.pcie_generation_max = gpu.integer("nvmlDeviceGetMaxPcieLinkGeneration");
  s.pcie_generation_gpu_max = gpu.integer("nvmlDeviceGetGpuMaxPcieLinkGeneration");
  s.pcie_width = gpu.integer("nvmlDeviceGetCurrPcieLinkWidth");
  s.pcie_width_max = gpu.integer("nvmlDeviceGetMaxPcieLinkWidth");
}

/// nvmlProcessInfo_t of the functions whose names end in _v2 and _v3.
struct Process {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};

std::optional<std::vector<Process>> processes(const Gpu& gpu, const char* name) {
  using List = int(Device, unsigned*, Process*);
  constexpr unsigned kMore = 16;  // may have come between the two calls
  unsigned count = 0;
  const int status = gpu.status_of<List>(name, &count, nullptr);
  if (status == nvml::kSuccess) return std::vector<Process>{};
  if (status != nvml::kInsufficientSize) return std::nullopt;
  count += kMore;
  std::vector<Process> found(count);
  if (!gpu.call<List>(name, &count, found.data())) return std::nullopt;
  found.resize(count);
  return found;
}

void read_sharing(const Gpu& gpu, DeviceState& s) {
  unsigned current = 0;
  unsigned next = 0;
  if (gpu.call<int(Device, unsigned*, unsigned*)>("nvmlDeviceGetMigMode", &current, &next))
    s.mig_on = current != 0;
  s.persistence_on = gpu.flag("nvmlDeviceGetPersistenceMode");
  constexpr std::array<const char*, 4> kModes{"default", "exclusive_thread", "prohibited",
                                              "exclusive_process"};
  const auto mode = gpu.number("nvmlDeviceGetComputeMode");
  if (mode && *mode < kModes.size()) s.compute_mode = kModes[*mode];
  std::set<unsigned> seen;  // a process may compute and draw
  for (const char* name :
       {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v3"}) {
    const auto found = processes(gpu, name);
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
  const auto found = nvml::find_gpu(library, uuid);
  if (!found) return s;
  s.is_mig_instance = found->is_mig_instance;
  read_memory(found->gpu, s);
  read_power(found->gpu, s);
  read_clocks(found->gpu, s);
  read_link(found->gpu, s);
  read_sharing(found->gpu, s);
  return s;
}

std::optional<std::string> driver_version() noexcept {
  const Library library;
  char version[96] = {};
  const int status = library.call<int(char*, unsigned)>("nvmlSystemGetDriverVersion", version,
                                                        static_cast<unsigned>(sizeof version));
  return status == nvml::kSuccess ? std::optional<std::string>(version) : std::nullopt;
}

}  // namespace gpuexp
