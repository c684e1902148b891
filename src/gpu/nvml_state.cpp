#include "gpu/nvml_state.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "device/numa.hpp"
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

// Newer drivers report only the margin to the slowdown temperature, older drivers only that
// temperature.
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

/// nvmlProcessInfo_t, for functions whose names end in _v2 and _v3.
struct Process {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};

std::optional<std::vector<Process>> processes(const Gpu& gpu, const char* name) {
  using List = int(Device, unsigned*, Process*);
  constexpr unsigned kMore = 16;  // for processes that start between the two calls
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
  std::set<unsigned> seen;  // a process may use the GPU for both computing and graphics
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

/// nvmlPciInfo_t, for functions whose names end in _v2 and _v3.
struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  char bus_id[32];
};

struct NvLink {
  unsigned number = 0;
  bool ends_at_switch = false;
  unsigned domain = 0;
  unsigned bus = 0;
};

std::vector<NvLink> active_links(const Gpu& gpu) {
  constexpr unsigned kMaxLinks = 18;  // NVML_NVLINK_MAX_LINKS
  constexpr int kSwitch = 2;          // NVML_NVLINK_DEVICE_TYPE_SWITCH
  std::vector<NvLink> links;
  for (unsigned i = 0; i < kMaxLinks; ++i) {
    unsigned is_active = 0;
    if (!gpu.call<int(Device, unsigned, unsigned*)>("nvmlDeviceGetNvLinkState", i, &is_active) ||
        is_active == 0)
      continue;
    NvLink link{i};
    int type = 0;
    link.ends_at_switch =
        gpu.call<int(Device, unsigned, int*)>("nvmlDeviceGetNvLinkRemoteDeviceType", i, &type) &&
        type == kSwitch;
    PciInfo remote{};
    if (gpu.call<int(Device, unsigned, PciInfo*)>("nvmlDeviceGetNvLinkRemotePciInfo_v2", i,
                                                  &remote)) {
      link.domain = remote.domain;
      link.bus = remote.bus;
    }
    links.push_back(link);
  }
  return links;
}

std::optional<PciePath> pcie_way(const Library& library, Device a, Device b) {
  constexpr int kStep = 10;  // between the levels of nvmlGpuTopologyLevel_t
  int level = 0;
  const int status =
      library.call<int(Device, Device, int*)>("nvmlDeviceGetTopologyCommonAncestor", a, b, &level);
  if (status != nvml::kSuccess || level < 0 || level % kStep != 0 ||
      level > kStep * static_cast<int>(PciePath::processor))
    return std::nullopt;
  return static_cast<PciePath>(level / kStep);
}

/// NVML_P2P_CAPS_INDEX_…
enum class PeerAbility { read = 0, write = 1, nvlink = 2, atomics = 3 };

std::optional<bool> can(const Library& library, Device a, Device b, PeerAbility ability) {
  constexpr int kOk = 0;  // NVML_P2P_STATUS_OK
  int status = 0;
  if (library.call<int(Device, Device, int, int*)>(
          "nvmlDeviceGetP2PStatus", a, b, static_cast<int>(ability), &status) != nvml::kSuccess)
    return std::nullopt;
  return status == kOk;
}

std::optional<std::string> nvlink_version(const Gpu& gpu, const std::vector<NvLink>& links) {
  constexpr std::array<const char*, 7> kVersionNames{"1.0", "2.0", "2.2", "3.0",
                                                     "3.1", "4.0", "5.0"};
  unsigned version = 0;  // nvmlNvlinkVersion_t
  if (links.empty() ||
      !gpu.call<int(Device, unsigned, unsigned*)>("nvmlDeviceGetNvLinkVersion",
                                                  links.front().number, &version) ||
      version == 0 || version > kVersionNames.size())
    return std::nullopt;
  return kVersionNames[version - 1];
}

struct Found {
  std::optional<Device> device;
  std::vector<NvLink> links;
  std::optional<std::string> version;
  std::optional<std::pair<unsigned, unsigned>> bus;  ///< PCI domain and bus
};

Found found(const Library& library, GpuPlace& place) {
  Found f;
  f.device = library.device(place.uuid);
  place.numa_node = numa_node_of(place.pci_bus_id);
  if (!f.device) return f;
  const Gpu gpu(library, *f.device);
  place.pcie_generation = gpu.integer("nvmlDeviceGetCurrPcieLinkGeneration");
  place.pcie_width = gpu.integer("nvmlDeviceGetCurrPcieLinkWidth");
  f.links = active_links(gpu);
  f.version = nvlink_version(gpu, f.links);
  PciInfo own{};
  if (gpu.call<int(Device, PciInfo*)>("nvmlDeviceGetPciInfo_v3", &own))
    f.bus = std::pair(own.domain, own.bus);
  return f;
}

// If GPUs are connected by switches, each of a GPU's links to a switch reaches every other GPU.
GpuLink link_of(const Library& library, const Found& a, const Found& b) {
  GpuLink link;
  if (!a.device || !b.device) return link;
  const auto switched = [](const Found& f) {
    return std::count_if(f.links.begin(), f.links.end(),
                         [](const NvLink& l) { return l.ends_at_switch; });
  };
  const auto straight = std::count_if(a.links.begin(), a.links.end(), [&](const NvLink& l) {
    return !l.ends_at_switch && b.bus && *b.bus == std::pair(l.domain, l.bus);
  });
  const auto over_switches = std::min(switched(a), switched(b));
  link.is_switched = straight == 0 && over_switches > 0;
  link.nvlinks = static_cast<int>(straight > 0 ? straight : over_switches);
  if (link.nvlinks > 0) link.nvlink_version = a.version;
  link.pcie = pcie_way(library, *a.device, *b.device);
  const auto reads = can(library, *a.device, *b.device, PeerAbility::read);
  const auto writes = can(library, *a.device, *b.device, PeerAbility::write);
  if (reads && writes) link.peer_access = *reads && *writes;
  link.peer_atomics = can(library, *a.device, *b.device, PeerAbility::atomics);
  return link;
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

Topology read_topology(std::vector<GpuPlace> gpus) noexcept {
  const Library library;
  Topology topology;
  topology.gpus = std::move(gpus);
  std::vector<Found> all;
  for (GpuPlace& place : topology.gpus)
    all.push_back(found(library, place));
  for (std::size_t a = 0; a < all.size(); ++a) {
    topology.links.emplace_back();
    for (std::size_t b = 0; b < all.size(); ++b)
      topology.links.back().push_back(a == b ? GpuLink{} : link_of(library, all[a], all[b]));
  }
  return topology;
}

}  // namespace gpuexp
