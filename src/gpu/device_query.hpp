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
  /// Id of the spec in configs/devices that provides the peak rates; empty if no spec has the
  /// device's name.
  std::string spec_id;
};

/// Why no CUDA device can be used, in one line with the remedy; empty if one can. Creates no
/// context.
std::optional<std::string> no_device_reason();

int device_count();

/// UUID of the device ("GPU-…"); empty if there is no such device. Creates no context.
std::optional<std::string> device_uuid(int index);

/// Compute capability of the device (90 for 9.0); empty if there is no such device. Creates no
/// context.
std::optional<int> compute_capability_of(int index);

/// CUDA version of the linked runtime ("13.0"), and the newest version that the driver supports
/// ("none" without a driver).
std::string runtime_version();
std::string driver_runtime_version();

/// Properties of a device. Peak rates, clock under tensor load and link properties come from the
/// spec with the device's name. Throws CudaError.
DeviceInfo query_device(int index, const std::vector<DeviceSpecFile>& specs);

}  // namespace gpuexp
