// The devices of this machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/device_spec_file.hpp"

namespace gpuexp {

struct DeviceInfo {
  int index = 0;
  DeviceSpec spec;
  std::string uuid;  ///< "GPU-…"
  std::string pci_bus_id;
  std::int64_t free_bytes = 0;
  std::optional<std::string> driver_version;
  /// Id of the spec in configs/devices that the peak rates come from; empty when none is listed for
  /// it.
  std::string spec_id;
};

/// Why no CUDA device can be used here, in one line with its cure; empty when one can. Creates no
/// context.
std::optional<std::string> no_device_reason();

int device_count();

/// As DeviceInfo has it; empty where there is no such device. Creates no context.
std::optional<std::string> device_uuid(int index);

/// "13.0" for the runtime that this binary holds, and for the newest that the driver supports
/// ("none" without one).
std::string runtime_version();
std::string driver_runtime_version();

/// Reads one device; rates of its pipes come from the listed spec with its name. Throws CudaError.
DeviceInfo query_device(int index, const std::vector<DeviceSpecFile>& specs);

}  // namespace gpuexp
