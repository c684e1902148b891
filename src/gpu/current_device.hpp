// The device on which the runtime's calls of this thread work.
#pragma once

#include <cuda_runtime_api.h>

#include "gpu/cuda_check.hpp"

namespace gpuexp {

/// Makes `device` the current one for as long as it lives.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) {
    GPUEXP_CUDA(cudaGetDevice(&previous_));
    if (previous_ != device) GPUEXP_CUDA(cudaSetDevice(device));
  }
  ~CurrentDevice() { GPUEXP_CUDA_NOEXCEPT(cudaSetDevice(previous_)); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int previous_ = 0;
};

}  // namespace gpuexp
