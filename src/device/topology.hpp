// How the GPUs of a host are connected: with each other, with the host's processors, and with its
// memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

/// The way over PCI Express between two GPUs, nearest first (nvmlGpuTopologyLevel_t; nvidia-smi
/// topo names them so).
enum class PcieWay {
  board,     ///< both are on one board
  pix,       ///< over one switch
  pxb,       ///< over several switches
  phb,       ///< over a processor's host bridge
  node,      ///< over several host bridges of one NUMA node
  processor  ///< over the link between NUMA nodes: SYS
};
/// "PIX", as nvidia-smi has it.
std::string_view name_of(PcieWay way);

struct GpuPlace {
  int index = 0;
  std::string name;
  std::string uuid;
  std::string pci_bus_id;
  std::optional<std::int64_t> numa_node;  ///< empty: the host has one, or does not say
  std::optional<int> pcie_generation;
  std::optional<int> pcie_width;
};

/// What one GPU has of another.
struct GpuLink {
  int nvlinks = 0;           ///< active, straight to the other or to a switch that both are at
  bool is_switched = false;  ///< these go to a switch
  std::optional<std::string> nvlink_version;  ///< "4.0"
  std::optional<PcieWay> pcie;
  /// Whether kernels here can access the other's memory (peer access); empty: not known.
  std::optional<bool> peer_access;
  std::optional<bool> peer_atomics;  ///< and change it by atomic operations
};

struct Topology {
  std::vector<GpuPlace> gpus;
  std::vector<std::vector<GpuLink>> links;  ///< from each to each; [i][i] is empty
};

/// "NV18", else the way over PCI Express, else "?"; "X" of a GPU and itself.
std::string text_of(const Topology& topology, std::size_t from, std::size_t to);

inline constexpr int kNewestPcieGeneration = 6;

/// Bytes per second that such a link carries each way at most, before the headers of packets: the
/// signalling rate per lane less the line code (PCI Express Base Specification: 8b/10b in
/// generations 1 and 2, 128b/130b from 3 on, in 6 FLITs of 256 bytes with 236 of packets). 0 of
/// any other generation than 1 to kNewestPcieGeneration, and of no lanes.
double pcie_bytes_per_s(int generation, int lanes);

}  // namespace gpuexp
