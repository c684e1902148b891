// The executor that runs cells on a CUDA device.
#pragma once

#include <memory>

#include "core/device_spec.hpp"
#include "core/executor.hpp"

namespace gpuexp {

/// Makes `device_index` current and creates its context. `device` describes it. Throws CudaError.
std::unique_ptr<Executor> make_cuda_executor(int device_index, const DeviceSpec& device);

}  // namespace gpuexp
