// Why a variant cannot run a problem on a device.
#pragma once

#include <string>

#include "base/mode.hpp"
#include "device/device_spec.hpp"
#include "family/family.hpp"
#include "sass/kernel_resource.hpp"

namespace gpuexp {

struct SkipReason {
  std::string text;               ///< empty if the variant can run
  bool machine_lacks = false;     ///< another GPU, more GPUs or a library could run it
  bool does_not_compile = false;  ///< the compiler refuses the variant's code

  explicit operator bool() const { return !text.empty(); }
};

/// Reasons that do not depend on the variant's code.
SkipReason unsupported_reason(const Family& family, const Variant& variant, const void* problem,
                              Mode mode, const DeviceSpec& device);

/// The variant's code does not compile, or its blocks do not fit on an SM.
SkipReason code_reason(const Variant& variant, const void* problem, const DeviceSpec& device,
                       const KernelResources& resources);

}  // namespace gpuexp
