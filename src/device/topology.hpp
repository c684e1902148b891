// Connections of a host's GPUs to each other, to the processors and to host memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

/// PCI Express path between two GPUs, shortest first (nvmlGpuTopologyLevel_t; names of nvidia-smi
/// topo).
enum class PciePath {
  board,     ///< both GPUs are on one board
  pix,       ///< one switch
  pxb,       ///< several switches
  phb,       ///< a processor's host bridge
  node,      ///< several host bridges of one NUMA node
  processor  ///< the link between NUMA nodes: SYS
};
/// Name as in nvidia-smi: "PIX".
std::string_view name_of(PciePath way);

struct GpuPlace {
  int index = 0;
  std::string name;
  std::string uuid;
  std::string pci_bus_id;
  std::optional<std::int64_t> numa_node;  ///< empty: the host has one node or does not report nodes
  std::optional<int> pcie_generation;
  std::optional<int> pcie_width;
};

struct GpuLink {
  int nvlinks = 0;  ///< number of active links, to the other GPU or to a switch that connects both
  bool is_switched = false;
  std::optional<std::string> nvlink_version;  ///< "4.0"
  std::optional<PciePath> pcie;
  /// Whether kernels on one GPU can access the other's memory (peer access); empty: unknown.
  std::optional<bool> peer_access;
  std::optional<bool> peer_atomics;  ///< whether they can also use atomic operations there
};

struct Topology {
  std::vector<GpuPlace> gpus;
  std::vector<std::vector<GpuLink>> links;  ///< [from][to]; [i][i] is empty
};

/// "NV18", otherwise the PCI Express path, otherwise "?"; "X" if both are the same GPU.
std::string text_of(const Topology& topology, std::size_t from, std::size_t to);

inline constexpr int kNewestPcieGeneration = 6;

/// Maximum bytes per second of a link in each direction, before packet headers: the signalling
/// rate times the efficiency of the line code (PCI Express Base Specification: 8b/10b in
/// generations 1 and 2, 128b/130b in 3 to 5, FLITs of 256 bytes with 236 bytes of packets in 6).
/// 0 for an unknown generation and for 0 lanes.
double pcie_bytes_per_s(int generation, int lanes);

}  // namespace gpuexp
