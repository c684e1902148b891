#include "gpu/nvml_topology.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "device/numa.hpp"
#include "gpu/nvml_library.hpp"

namespace gpuexp {

namespace {

using nvml::Device;
using nvml::Gpu;
using nvml::Library;

/// nvmlPciInfo_t of the functions that end in _v2 and _v3.
struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  char bus_id[32];
};

/// An active NVLink, and where it ends.
struct NvLink {
  unsigned number = 0;
  bool ends_at_switch = false;
  unsigned domain = 0;
  unsigned bus = 0;
};

std::vector<NvLink> active_links(const Gpu& gpu) {
  constexpr unsigned kMostLinks = 18;  // NVML_NVLINK_MAX_LINKS
  constexpr int kSwitch = 2;           // NVML_NVLINK_DEVICE_TYPE_SWITCH
  std::vector<NvLink> links;
  for (unsigned i = 0; i < kMostLinks; ++i) {
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

std::optional<PcieWay> pcie_way(const Library& library, Device a, Device b) {
  constexpr int kStep = 10;  // between the levels of nvmlGpuTopologyLevel_t
  int level = 0;
  const int status =
      library.call<int(Device, Device, int*)>("nvmlDeviceGetTopologyCommonAncestor", a, b, &level);
  if (status != nvml::kSuccess || level < 0 || level % kStep != 0 ||
      level > kStep * static_cast<int>(PcieWay::processor))
    return std::nullopt;
  return static_cast<PcieWay>(level / kStep);
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
  constexpr std::array<const char*, 7> kFromOne{"1.0", "2.0", "2.2", "3.0", "3.1", "4.0", "5.0"};
  unsigned version = 0;  // nvmlNvlinkVersion_t
  if (links.empty() ||
      !gpu.call<int(Device, unsigned, unsigned*)>("nvmlDeviceGetNvLinkVersion",
                                                  links.front().number, &version) ||
      version == 0 || version > kFromOne.size())
    return std::nullopt;
  return kFromOne[version - 1];
}

struct Found {
  std::optional<Device> device;
  std::vector<NvLink> links;
  std::optional<std::string> version;
  std::optional<std::pair<unsigned, unsigned>> bus;  ///< its domain, and its number there
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

// All of a GPU's links that go to switches reach every other GPU that is at them.
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
