// How the GPUs of a host are connected to each other, to the host's processors and to its memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

/// Path over PCI Express between two GPUs, shortest first (nvmlGpuTopologyLevel_t, with the names
/// of nvidia-smi topo).
enum class PciePath {
  board,     ///< both are on one board
  pix,       ///< over one switch
  pxb,       ///< over several switches
  phb,       ///< over a processor's host bridge
  node,      ///< over several host bridges of one NUMA node
  processor  ///< over the link between NUMA nodes: SYS
};
/// "PIX", as nvidia-smi writes it.
std::string_view name_of(PciePath way);

struct GpuPlace {
  int index = 0;
  std::string name;
  std::string uuid;
  std::string pci_bus_id;
  std::optional<std::int64_t> numa_node;  ///< empty: the host has one node, or does not report it
  std::optional<int> pcie_generation;
  std::optional<int> pcie_width;
};

/// The connection of one GPU to another.
struct GpuLink {
  int nvlinks = 0;  ///< active links, directly to the other or to a switch that connects both
  bool is_switched = false;                   ///< the NVLinks go to a switch
  std::optional<std::string> nvlink_version;  ///< "4.0"
  std::optional<PciePath> pcie;
  /// Whether kernels here can access the other's memory (peer access); empty: unknown.
  std::optional<bool> peer_access;
  std::optional<bool> peer_atomics;  ///< whether they can also access it by atomic operations
};

struct Topology {
  std::vector<GpuPlace> gpus;
  std::vector<std::vector<GpuLink>> links;  ///< from each GPU to each other; [i][i] is empty
};

/// "NV18", otherwise the path over PCI Express, otherwise "?"; "X" for a GPU and itself.
std::string text_of(const Topology& topology, std::size_t from, std::size_t to);

inline constexpr int kNewestPcieGeneration = 6;

/// Maximum bytes per second of such a link in each direction, before packet headers: the signalling
/// rate per lane less the line code (PCI Express Base Specification: 8b/10b in generations 1 and 2,
/// 128b/130b in 3 to 5, and in 6 FLITs of 256 bytes with 236 bytes of packets). 0 for any
/// generation outside of 1 to kNewestPcieGeneration, and for no lanes.
double pcie_bytes_per_s(int generation, int lanes);

}  // namespace gpuexp
