#include "render/topology_text.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gpuexp {

namespace {

using Lines = std::vector<std::vector<std::string>>;

std::string gpu_name(const GpuPlace& gpu) {
  return fmt::format("GPU{}", gpu.index);
}

std::string pcie_text(const GpuPlace& gpu) {
  return gpu.pcie_generation && gpu.pcie_width
             ? fmt::format("gen {} x{}", *gpu.pcie_generation, *gpu.pcie_width)
             : "?";
}

Lines matrix_of(const Topology& topology) {
  Lines lines{{""}};
  for (const GpuPlace& gpu : topology.gpus)
    lines.front().push_back(gpu_name(gpu));
  lines.front().insert(lines.front().end(), {"NUMA", "PCIe"});
  for (std::size_t i = 0; i < topology.gpus.size(); ++i) {
    const GpuPlace& gpu = topology.gpus[i];
    std::vector<std::string>& line = lines.emplace_back();
    line.push_back(gpu_name(gpu));
    for (std::size_t j = 0; j < topology.gpus.size(); ++j)
      line.push_back(text_of(topology, i, j));
    line.push_back(gpu.numa_node ? std::to_string(*gpu.numa_node) : "-");
    line.push_back(pcie_text(gpu));
  }
  return lines;
}

std::string aligned(const Lines& lines) {
  std::vector<std::size_t> widths(lines.front().size());
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const auto& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.size(); ++i)
      row += fmt::format("  {:<{}}", line[i], widths[i]);
    text += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

template <class Use>
void for_each_pair(const Topology& topology, const Use& use) {
  for (std::size_t i = 0; i < topology.gpus.size(); ++i) {
    for (std::size_t j = 0; j < topology.gpus.size(); ++j) {
      if (i != j) use(i, j, topology.links[i][j]);
    }
  }
}

std::string nvlink_text(const Topology& topology) {
  std::set<std::string> kinds;
  for_each_pair(topology, [&](std::size_t, std::size_t, const GpuLink& link) {
    if (link.nvlinks == 0) return;
    kinds.insert(fmt::format("NVLink{}{}",
                             link.nvlink_version ? " " + *link.nvlink_version : std::string(),
                             link.is_switched ? " through switches" : ", direct"));
  });
  return kinds.empty() ? ""
                       : fmt::format("  NV#: number of active links; {}\n", fmt::join(kinds, "; "));
}

std::string ways_text(const Topology& topology) {
  constexpr std::pair<PciePath, const char*> kWays[] = {
      {PciePath::board, "both on one board"},
      {PciePath::pix, "over one PCIe switch"},
      {PciePath::pxb, "over several PCIe switches"},
      {PciePath::phb, "over a processor's PCIe host bridge"},
      {PciePath::node, "over several host bridges of a NUMA node"},
      {PciePath::processor, "over the link between NUMA nodes"}};
  std::set<std::string> shown;
  for (std::size_t i = 0; i < topology.gpus.size(); ++i) {
    for (std::size_t j = 0; j < topology.gpus.size(); ++j)
      shown.insert(text_of(topology, i, j));
  }
  std::string text;
  for (const auto& [way, meaning] : kWays) {
    if (shown.count(std::string(name_of(way))) == 1)
      text += fmt::format("  {}: {}\n", name_of(way), meaning);
  }
  if (shown.count("?") == 1) text += "  ?: unknown to the driver\n";
  return text;
}

std::string peer_text(const Topology& topology) {
  std::vector<std::string> without;
  bool are_known = true;
  for_each_pair(topology, [&](std::size_t i, std::size_t j, const GpuLink& link) {
    are_known = are_known && link.peer_access.has_value();
    if (link.peer_access == false)
      without.push_back(
          fmt::format("{} to {}", gpu_name(topology.gpus[i]), gpu_name(topology.gpus[j])));
  });
  if (!without.empty()) return fmt::format("  no peer access: {}\n", fmt::join(without, ", "));
  return are_known ? "  peer access between all GPUs\n" : "";
}

}  // namespace

std::string topology_text(const Topology& topology) {
  return aligned(matrix_of(topology)) + nvlink_text(topology) + ways_text(topology) +
         peer_text(topology);
}

}  // namespace gpuexp
