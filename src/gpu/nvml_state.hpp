// The state of a GPU as NVML tells it. Read-only: nothing here changes a setting.
#pragma once

#include <string>

#include "device/device_state.hpp"

namespace gpuexp {

/// Of the GPU, or of the one that the MIG instance is part of, with this UUID ("GPU-…", as
/// DeviceInfo has it). Never throws: what NVML does not say is empty, and all is without NVML.
/// `load` is left empty. Whoever calls this without a context of its own on the GPU finds only
/// others among the processes.
DeviceState read_device_state(const std::string& uuid) noexcept;

/// "580.159.04"; empty without NVML.
std::optional<std::string> driver_version() noexcept;

}  // namespace gpuexp
