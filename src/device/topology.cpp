#include "device/topology.hpp"

#include <array>
#include <cstddef>

namespace gpuexp {

namespace {

constexpr double kGigaPerSecond = 1e9;
constexpr double kBitsPerByte = 8;

constexpr double lane_bytes_per_s(double giga_transfers_per_s, double carried, double sent) {
  return giga_transfers_per_s * kGigaPerSecond / kBitsPerByte * carried / sent;
}

constexpr std::array<double, kNewestPcieGeneration> kLanes = {
    lane_bytes_per_s(2.5, 8, 10),   lane_bytes_per_s(5, 8, 10),     lane_bytes_per_s(8, 128, 130),
    lane_bytes_per_s(16, 128, 130), lane_bytes_per_s(32, 128, 130), lane_bytes_per_s(64, 236, 256),
};

}  // namespace

std::string_view name_of(PciePath way) {
  constexpr std::array<std::string_view, 6> kNames{"BOARD", "PIX", "PXB", "PHB", "NODE", "SYS"};
  return kNames[static_cast<std::size_t>(way)];
}

std::string text_of(const Topology& topology, std::size_t from, std::size_t to) {
  if (from == to) return "X";
  const GpuLink& link = topology.links[from][to];
  if (link.nvlinks > 0) return "NV" + std::to_string(link.nvlinks);
  return link.pcie ? std::string(name_of(*link.pcie)) : "?";
}

double pcie_bytes_per_s(int generation, int lanes) {
  if (generation < 1 || generation > kNewestPcieGeneration || lanes < 1) return 0;
  return lanes * kLanes[static_cast<std::size_t>(generation - 1)];
}

}  // namespace gpuexp
