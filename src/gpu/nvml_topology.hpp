// How the GPUs of this host are connected, as NVML and Linux tell it. Read-only, and without a
// context.
#pragma once

#include <vector>

#include "device/topology.hpp"

namespace gpuexp {

/// Fills in what connects the GPUs, whose names, UUIDs and bus ids are given. Never throws: what
/// NVML does not say is empty. MIG instances have no links.
Topology read_topology(std::vector<GpuPlace> gpus) noexcept;

}  // namespace gpuexp
