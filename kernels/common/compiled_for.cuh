// Checks for variants whose instructions are newer than the oldest architecture of this build. On
// a device that runs the older code, their kernels would trap.
#pragma once

#include "device/compiled_code.hpp"
#include "device/device_spec.hpp"

namespace gpuexp {

/// Returns a reason if the device would run code for a compute capability below `needed`.
inline std::optional<std::string> lacks_code(const DeviceSpec& device, int needed) {
  return lacks_code(GPUEXP_CUDA_ARCHITECTURES, device.compute_capability(), needed, false);
}

/// Returns `v`, restricted to devices of compute capability `needed` or later for which this
/// binary has code.
template <class Variant>
Variant needs_capability(Variant v, int needed) {
  v.min_compute_capability = needed;
  v.unsupported = [needed, other = v.unsupported](const auto& p, const DeviceSpec& device) {
    const auto lacks = lacks_code(device, needed);
    return lacks || !other ? lacks : other(p, device);
  };
  return v;
}

/// Returns a reason if this binary has no architecture-specific code for the device, such as
/// sm_90a.
inline std::optional<std::string> lacks_specific_code(const DeviceSpec& device) {
  const int capability = device.compute_capability();
  return lacks_code(GPUEXP_CUDA_ARCHITECTURES, capability, capability, true);
}

}  // namespace gpuexp
