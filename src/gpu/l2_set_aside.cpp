#include "gpu/l2_set_aside.hpp"

#include <cstddef>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "device/device_error.hpp"
#include "gpu/cuda_check.hpp"

namespace gpuexp {

L2SetAside::L2SetAside(std::int64_t bytes) {
  if (bytes == 0) return;
  GPUEXP_CUDA(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, static_cast<std::size_t>(bytes)));
  const std::int64_t got = now();
  if (got < bytes) {
    GPUEXP_CUDA_NOEXCEPT(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0));
    throw DeviceError(
        fmt::format("the device sets {} bytes of L2 aside, of {} that are asked for", got, bytes),
        DeviceFault::refused);
  }
  is_set_ = true;
}

L2SetAside::~L2SetAside() {
  if (!is_set_) return;
  GPUEXP_CUDA_NOEXCEPT(cudaCtxResetPersistingL2Cache());
  GPUEXP_CUDA_NOEXCEPT(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0));
}

void L2SetAside::clear() {
  int device = 0;
  int most = 0;
  GPUEXP_CUDA(cudaGetDevice(&device));
  GPUEXP_CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxPersistingL2CacheSize, device));
  if (most > 0) GPUEXP_CUDA(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0));
}

std::int64_t L2SetAside::now() {
  std::size_t bytes = 0;
  GPUEXP_CUDA(cudaDeviceGetLimit(&bytes, cudaLimitPersistingL2CacheSize));
  return static_cast<std::int64_t>(bytes);
}

}  // namespace gpuexp
