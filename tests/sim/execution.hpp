// Shared by tests that execute families on the CPU.
#pragma once

#include <map>
#include <string>

#include "device/device_spec_file.hpp"
#include "family/registry.hpp"
#include "sass/kernel_resource.hpp"
#include "simulated/simulated_executor.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {

/// Device of configs/devices.
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

/// Skips the test and returns false if the binary has no machine code.
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

/// Parameters that differ from their defaults.
using Changed = std::map<std::string, Value>;

/// Runs all variants on these values, with all blocks, checks their results and returns their
/// number.
inline std::size_t check_variants(const Family& family, const Values& values) {
  SimulatedOptions options;
  options.blocks = {ExecutedBlocks::kAll};
  options.launch_timeout_s = 300;  // other processes may use the CPU, too
  const auto executor = make_simulated_executor(device(), kernels(), options);
  INFO(family.id << " " << describe(family, values));
  const auto problem = family.make_problem(values);
  executor->set_up(family, values, 7);
  std::size_t ran = 0;
  for (const Variant& variant : family.variants) {
    if (!runs_on(device(), family, variant, problem.get())) continue;
    INFO(variant.id);
    const Verification result = executor->verify(variant, Mode::cold);
    INFO((result.passed() ? "" : failure_of(result)));
    CHECK(result.passed());
    ++ran;
  }
  return ran;
}
inline std::size_t check_variants(const Family& family, const Changed& changed) {
  return check_variants(family, values_with(family, changed));
}

}  // namespace gpuexp::test
