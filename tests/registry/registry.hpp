// Shared by tests of the registry and its configs.
#pragma once

#include <algorithm>
#include <filesystem>
#include <variant>
#include <vector>

#include "device/device_spec_file.hpp"
#include "family/family.hpp"
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

/// Whether a launch consists only of copies.
inline bool only_copies(const Variant& variant, const void* problem, const DeviceSpec& device) {
  const Steps steps = variant.launch(problem, variant.unbound_data.get(), {device, nullptr});
  return std::all_of(steps.all().begin(), steps.all().end(), [](const Step& step) {
    return std::holds_alternative<CopyStep>(step.action);
  });
}

}  // namespace gpuexp::test
