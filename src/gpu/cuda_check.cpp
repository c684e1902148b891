#include "gpu/cuda_check.hpp"

#include <cstring>
#include <string>

namespace gpuexp {

namespace {

std::string message(cudaError_t code, const char* call, const char* file, int line) {
  const char* base = std::strrchr(file, '/');
  return std::string(cudaGetErrorName(code)) + " (" + cudaGetErrorString(code) + ") from " + call +
         " at " + (base ? base + 1 : file) + ":" + std::to_string(line);
}

}  // namespace

CudaError::CudaError(cudaError_t code, DeviceFault fault, const char* call, const char* file,
                     int line)
    : DeviceError(message(code, call, file, line), fault), code_(code) {}

void check_cuda(cudaError_t code, const char* call, const char* file, int line) {
  if (code == cudaSuccess) return;
  cudaGetLastError();
  // If an error remains after it was read, the context is lost.
  const bool lost = cudaDeviceSynchronize() != cudaSuccess;
  throw CudaError(code, lost ? DeviceFault::lost : DeviceFault::refused, call, file, line);
}

void ignore_cuda(cudaError_t code) noexcept {
  if (code != cudaSuccess) cudaGetLastError();
}

}  // namespace gpuexp
