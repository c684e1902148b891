// The executor that runs cells on a CUDA device.
#pragma once

#include <memory>

#include "device/device_spec.hpp"
#include "run/executor.hpp"

namespace gpuexp {

/// Makes `device_index` current and creates its context. `device` describes it. Without `gated`,
/// the GPU never waits for the host, as under a profiler, which may wait for the GPU itself. Throws
/// CudaError.
std::unique_ptr<Executor> make_cuda_executor(int device_index, const DeviceSpec& device,
                                             bool gated = true);

}  // namespace gpuexp
