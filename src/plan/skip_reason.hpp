// Why a variant cannot run a problem on a device.
#pragma once

#include <string>

#include "base/mode.hpp"
#include "device/device_spec.hpp"
#include "family/family.hpp"
#include "sass/kernel_resource.hpp"

namespace gpuexp {

enum class SkipCause {
  other,
  machine_lacks,  ///< another GPU, more GPUs or a library could run the variant
  no_code,        ///< the compiler refuses the variant's code, or the file has none for the GPU
  beyond_limits,  ///< a launch or a buffer of a kernel file exceeds what the GPU or the code allows
};

struct SkipReason {
  std::string text;  ///< empty if the variant can run
  SkipCause cause = SkipCause::other;

  explicit operator bool() const { return !text.empty(); }
};

/// Reasons that do not depend on the variant's code.
SkipReason unsupported_reason(const Family& family, const Variant& variant, const void* problem,
                              Mode mode, const DeviceSpec& device);

/// The variant has no code, or its launches do not fit on the GPU.
SkipReason code_reason(const Family& family, const Variant& variant, const void* problem,
                       const DeviceSpec& device, const KernelResources& resources);

}  // namespace gpuexp
