// Conversion of CUDA status codes into exceptions.
#pragma once

#include <cuda_runtime_api.h>

#include "device/device_error.hpp"

namespace gpuexp {

/// A failed CUDA call. The message contains the error's name and meaning, the call, file and line.
class CudaError : public DeviceError {
 public:
  CudaError(cudaError_t code, DeviceFault fault, const char* call, const char* file, int line);
  cudaError_t code() const { return code_; }

 private:
  cudaError_t code_;
};

void check_cuda(cudaError_t code, const char* call, const char* file, int line);

/// For destructors: clears the error and continues.
void ignore_cuda(cudaError_t code) noexcept;

}  // namespace gpuexp

#define GPUEXP_CUDA(call) ::gpuexp::check_cuda((call), #call, __FILE__, __LINE__)
#define GPUEXP_CUDA_NOEXCEPT(call) ::gpuexp::ignore_cuda(call)
