#pragma once

#include <string>

#include "device/topology.hpp"

namespace gpuexp {

/// One line per GPU with its links to the other GPUs, its NUMA node and its PCIe link; then the
/// kinds of NVLinks, the abbreviations, and the pairs without peer access.
std::string topology_text(const Topology& topology);

}  // namespace gpuexp
