// Shared by tests of the registry and its configs.
#pragma once

#include <filesystem>
#include <vector>

#include "device/device_spec_file.hpp"
#include "sass/kernel_resource.hpp"

namespace gpuexp::test {

inline const std::filesystem::path kSource = GPUEXP_SOURCE_DIR;

/// Devices of configs/devices.
inline const std::vector<DeviceSpecFile>& devices() {
  static const auto specs = read_device_specs(kSource / "configs" / "devices");
  return specs;
}

/// Kernel resources of this build.
inline KernelResources resources() {
  std::size_t count = 0;
  const KernelResource* table = kernel_resource_table(count);
  return {table, count};
}

}  // namespace gpuexp::test
