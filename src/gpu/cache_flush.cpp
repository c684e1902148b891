#include "gpu/cache_flush.hpp"

#include <cstddef>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "device/device_error.hpp"
#include "gpu/cuda_check.hpp"
#include "gpu/device_ops.hpp"

namespace gpuexp {

CacheFlush::CacheFlush(const DeviceSpec& device)
    : buffer_(ceil_div(kFlushL2Sizes * device.l2_bytes, 16) * 16), sink_(sizeof(unsigned)) {
  GPUEXP_CUDA(cudaMemset(buffer_.get(), 0, static_cast<std::size_t>(buffer_.bytes())));
  GPUEXP_CUDA(cudaDeviceSynchronize());
}

void CacheFlush::enqueue(const CudaStream& stream, bool forget_persisting) const {
  if (forget_persisting) GPUEXP_CUDA(cudaCtxResetPersistingL2Cache());
  queue_cache_flush(buffer_.get(), buffer_.bytes(), sink_.as<unsigned>(), stream.get());
}

L2SetAside::L2SetAside(std::int64_t bytes) {
  if (bytes == 0) return;
  GPUEXP_CUDA(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, static_cast<std::size_t>(bytes)));
  const std::int64_t got = now();
  if (got < bytes) {
    GPUEXP_CUDA_NOEXCEPT(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0));
    throw DeviceError(
        fmt::format("the device set {} bytes of L2 aside, of {} requested", got, bytes),
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
  int max_bytes = 0;
  GPUEXP_CUDA(cudaGetDevice(&device));
  GPUEXP_CUDA(cudaDeviceGetAttribute(&max_bytes, cudaDevAttrMaxPersistingL2CacheSize, device));
  if (max_bytes > 0) GPUEXP_CUDA(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0));
}

std::int64_t L2SetAside::now() {
  std::size_t bytes = 0;
  GPUEXP_CUDA(cudaDeviceGetLimit(&bytes, cudaLimitPersistingL2CacheSize));
  return static_cast<std::int64_t>(bytes);
}

}  // namespace gpuexp
