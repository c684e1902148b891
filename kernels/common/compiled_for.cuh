// Skip reasons for variants whose instructions are newer than the oldest architecture that the
// project compiles for. On a device that runs the older code, their kernels would trap.
#pragma once

#include "device/compiled_code.hpp"
#include "device/device_spec.hpp"

namespace gpuexp {

/// Returns a reason if this binary's code for the device is older than compute capability `needed`.
inline std::optional<std::string> lacks_code(const DeviceSpec& device, int needed) {
  return lacks_code(GPUEXP_CUDA_ARCHITECTURES, device.compute_capability(), needed, false);
}

/// Returns the variant, restricted to devices of compute capability `needed` or later for which
/// this binary has code.
template <class Variant>
Variant needs_capability(Variant v, int needed) {
  v.min_compute_capability = needed;
  v.unsupported = [needed, other = v.unsupported](const auto& p, const DeviceSpec& device) {
    const auto lacks = lacks_code(device, needed);
    return lacks || !other ? lacks : other(p, device);
  };
  return v;
}

/// Returns a reason if this binary lacks architecture-specific code for the device (such as
/// sm_90a), whose instructions later devices do not have.
inline std::optional<std::string> lacks_specific_code(const DeviceSpec& device) {
  const int capability = device.compute_capability();
  return lacks_code(GPUEXP_CUDA_ARCHITECTURES, capability, capability, true);
}

}  // namespace gpuexp
