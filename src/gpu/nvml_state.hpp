// The state of a GPU according to NVML. No function changes a setting.
#pragma once

#include <string>
#include <vector>

#include "device/device_state.hpp"
#include "device/topology.hpp"

namespace gpuexp {

/// State of the GPU with this UUID ("GPU-…"), or of the GPU that contains this MIG instance. Never
/// throws: unknown values are empty. `load` stays empty. `processes` includes this process if it
/// has a context on the GPU.
DeviceState read_device_state(const std::string& uuid) noexcept;

/// Version of the driver, such as "580.159.04"; empty without NVML.
std::optional<std::string> driver_version() noexcept;

/// Adds the links between the GPUs, whose names, UUIDs and bus ids are given. Never throws: unknown
/// values are empty. MIG instances have no links.
Topology read_topology(std::vector<GpuPlace> gpus) noexcept;

}  // namespace gpuexp
