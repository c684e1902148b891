#pragma once

#include <memory>

#include "device/device_spec.hpp"
#include "run/compared_elements.hpp"
#include "run/executor.hpp"

namespace gpuexp {

struct CudaOptions {
  /// Whether to block the stream while the host enqueues a launch. Must be false under a profiler,
  /// which may wait for the GPU before the launch is enqueued.
  bool gated = true;
  /// Maximum seconds of a reference at reference_rate(). Outputs whose reference takes longer are
  /// compared at random elements.
  double max_reference_s = kMaxReferenceSeconds;
};

/// Makes `device_index`, which `device` describes, current and creates its context. Throws
/// CudaError.
std::unique_ptr<Executor> make_cuda_executor(int device_index, const DeviceSpec& device,
                                             const CudaOptions& options = {});

}  // namespace gpuexp
