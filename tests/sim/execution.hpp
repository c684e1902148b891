// What tests that execute families on the CPU share.
#pragma once

#include <string>

#include "device/device_spec_file.hpp"
#include "family/registry.hpp"
#include "sass/kernel_resource.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {

/// Of configs/devices.
inline DeviceSpec device_of(const std::string& id) {
  return read_device_spec(std::string(GPUEXP_SOURCE_DIR) + "/configs/devices/" + id + ".json").spec;
}

inline const DeviceSpec& device() {
  static const DeviceSpec spec = device_of("h200");
  return spec;
}

inline const KernelResources& kernels() {
  static const KernelResources resources = [] {
    std::size_t count = 0;
    const KernelResource* table = kernel_resource_table(count);
    return KernelResources(table, count);
  }();
  return resources;
}

/// Where it is false, the test is skipped.
inline bool has_machine_code() {
  if (!kernels().empty()) return true;
  skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  return false;
}

inline const Family& family_of(const char* id) {
  const Family* const family = Registry::global().find(id);
  REQUIRE(family);
  return *family;
}

}  // namespace gpuexp::test
