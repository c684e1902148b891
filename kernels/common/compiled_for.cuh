// Skips for variants whose instructions are newer than the oldest architecture that the project
// compiles for: on a device that runs older code, such a kernel could only trap.
#pragma once

#include "device/compiled_code.hpp"
#include "device/device_spec.hpp"

namespace gpuexp {

/// A reason when this binary's code for the device is older than compute capability `needed`.
inline std::optional<std::string> lacks_code(const DeviceSpec& device, int needed) {
  return lacks_code(GPUEXP_CUDA_ARCHITECTURES, device.compute_capability(), needed, false);
}

/// The variant, for devices of this compute capability or a later one, for which this binary has
/// code.
template <class Variant>
Variant needs_capability(Variant v, int needed) {
  v.min_compute_capability = needed;
  v.unsupported = [needed, other = v.unsupported](const auto& p, const DeviceSpec& device) {
    const auto lacks = lacks_code(device, needed);
    return lacks || !other ? lacks : other(p, device);
  };
  return v;
}

/// A reason when it lacks the instructions that the device's capability alone has (sm_90a).
inline std::optional<std::string> lacks_specific_code(const DeviceSpec& device) {
  const int capability = device.compute_capability();
  return lacks_code(GPUEXP_CUDA_ARCHITECTURES, capability, capability, true);
}

}  // namespace gpuexp
