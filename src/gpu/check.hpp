// Turning CUDA status codes into exceptions that name the call.
#pragma once

#include <stdexcept>
#include <string>

#include <cuda_runtime_api.h>

namespace gpuexp {

/// A CUDA call that failed. `sticky` says that the context is lost and no later call can succeed.
class CudaError : public std::runtime_error {
 public:
  CudaError(cudaError_t code, const char* call, const char* file, int line);
  cudaError_t code() const { return code_; }
  /// The code's name, such as cudaErrorIllegalAddress.
  const char* name() const { return cudaGetErrorName(code_); }
  bool sticky() const;

 private:
  cudaError_t code_;
};

/// Throws CudaError unless code is cudaSuccess; clears the runtime's last error.
void check_cuda(cudaError_t code, const char* call, const char* file, int line);

/// For destructors: clears the error and goes on.
void ignore_cuda(cudaError_t code) noexcept;

}  // namespace gpuexp

#define GPUEXP_CUDA(call) ::gpuexp::check_cuda((call), #call, __FILE__, __LINE__)
#define GPUEXP_CUDA_NOEXCEPT(call) ::gpuexp::ignore_cuda(call)
