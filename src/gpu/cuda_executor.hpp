// The executor that runs cells on a CUDA device.
#pragma once

#include <memory>

#include "device/device_spec.hpp"
#include "run/compared_elements.hpp"
#include "run/executor.hpp"

namespace gpuexp {

struct CudaOptions {
  /// If false, the stream is never blocked until the host has enqueued a launch. Profilers need
  /// this, because they may wait for the GPU themselves.
  bool gated = true;
  /// Maximum seconds of a reference at reference_rate(). For outputs whose reference takes longer,
  /// random elements are compared.
  double max_reference_s = kMaxReferenceSeconds;
};

/// Makes `device_index` current and creates its context. `device` must describe this device. Throws
/// CudaError.
std::unique_ptr<Executor> make_cuda_executor(int device_index, const DeviceSpec& device,
                                             const CudaOptions& options = {});

}  // namespace gpuexp
