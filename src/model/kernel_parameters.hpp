// Rates and latencies of an SM that executes a kernel, from measured ceilings of the GPU.
#pragma once

#include "device/ceilings.hpp"
#include "device/device_spec.hpp"
#include "device/unified_memory.hpp"
#include "model/launch_traffic.hpp"
#include "timing/sm_parameters.hpp"

namespace gpuexp {

/// The SMs that have blocks of a kernel. They share L2 and DRAM equally.
struct ActiveSms {
  const DeviceSpec& device;
  const Ceilings& ceilings;  ///< complete
  double clock_hz = 0;       ///< while this kernel runs
  double count = 0;
};

/// `uses_shared`: whether the kernel has shared memory of its own. `traffic` determines the rates
/// behind L1.
SmParameters kernel_parameters(const ActiveSms& of, const UnifiedMemory& memory, bool uses_shared,
                               const KernelTraffic& traffic);

}  // namespace gpuexp
