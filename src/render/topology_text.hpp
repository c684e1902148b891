// The links between a host's GPUs as a matrix, as nvidia-smi topo has it.
#pragma once

#include <string>

#include "device/topology.hpp"

namespace gpuexp {

/// A line for each GPU: what it has of each other, its NUMA node and its PCIe link; then which
/// NVLinks these are, which pairs have no peer access, and what the abbreviations in it mean.
std::string topology_text(const Topology& topology);

}  // namespace gpuexp
