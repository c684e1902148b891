#include "device/topology.hpp"

#include <array>

namespace gpuexp {

std::string_view name_of(PcieWay way) {
  constexpr std::array<std::string_view, 6> kNames{"BOARD", "PIX", "PXB", "PHB", "NODE", "SYS"};
  return kNames[static_cast<std::size_t>(way)];
}

std::string text_of(const Topology& topology, std::size_t from, std::size_t to) {
  if (from == to) return "X";
  const GpuLink& link = topology.links[from][to];
  if (link.nvlinks > 0) return "NV" + std::to_string(link.nvlinks);
  return link.pcie ? std::string(name_of(*link.pcie)) : "?";
}

}  // namespace gpuexp
