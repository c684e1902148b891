// The state of a GPU as NVML tells it. Read-only: nothing here changes a setting.
#pragma once

#include <string>
#include <vector>

#include "device/device_state.hpp"
#include "device/topology.hpp"

namespace gpuexp {

/// Of the GPU, or of the one that the MIG instance is part of, with this UUID ("GPU-…", as
/// DeviceInfo has it). Never throws: what NVML does not say is empty, and all is without NVML.
/// `load` is left empty. Whoever calls this without a context of its own on the GPU finds only
/// others among the processes.
DeviceState read_device_state(const std::string& uuid) noexcept;

/// "580.159.04"; empty without NVML.
std::optional<std::string> driver_version() noexcept;

/// Fills in what connects the GPUs, whose names, UUIDs and bus ids are given. Never throws: what
/// NVML does not say is empty. MIG instances have no links.
Topology read_topology(std::vector<GpuPlace> gpus) noexcept;

}  // namespace gpuexp
