// The executor that runs cells on a CUDA device.
#pragma once

#include <memory>

#include "device/device_spec.hpp"
#include "run/compared_elements.hpp"
#include "run/executor.hpp"

namespace gpuexp {

struct CudaOptions {
  /// Without it, the GPU never waits for the host, as under a profiler, which may wait for the GPU
  /// itself.
  bool gated = true;
  /// At the datasheet's rate of fp64; of outputs whose reference takes longer, random elements are
  /// compared.
  double most_reference_s = kMostReferenceSeconds;
};

/// Makes `device_index` current and creates its context. `device` describes it. Throws CudaError.
std::unique_ptr<Executor> make_cuda_executor(int device_index, const DeviceSpec& device,
                                             const CudaOptions& options = {});

}  // namespace gpuexp
