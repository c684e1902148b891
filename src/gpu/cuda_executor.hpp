// The executor that runs cells on a CUDA device.
#pragma once

#include <memory>

#include "device/device_spec.hpp"
#include "run/executor.hpp"

namespace gpuexp {

struct CudaOptions {
  /// Without it, the GPU never waits for the host, as under a profiler, which may wait for the GPU
  /// itself.
  bool gated = true;
  /// What a reference may take, if it were to do its operations at the datasheet's rate of fp64: of
  /// outputs that need more, random elements are compared. In fact it takes several times as long,
  /// because it converts each factor to fp64 and sums each product, its magnitude and its square;
  /// and a call of the worker has the seconds of --launch-timeout.
  double most_reference_s = 1;
};

/// Makes `device_index` current and creates its context. `device` describes it. Throws CudaError.
std::unique_ptr<Executor> make_cuda_executor(int device_index, const DeviceSpec& device,
                                             const CudaOptions& options = {});

}  // namespace gpuexp
