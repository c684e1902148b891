#include "gpu/resources.hpp"

#include <cstdint>

namespace gpuexp {

namespace {

// The stream of allocations and frees. The host waits for it, so that other streams may use the
// memory.
constexpr cudaStream_t kLegacyStream = nullptr;

/// The current device's memory pool, set to keep freed memory; null if the device has no pools.
cudaMemPool_t retaining_pool() {
  int device = 0;
  int supported = 0;
  GPUEXP_CUDA(cudaGetDevice(&device));
  GPUEXP_CUDA(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device));
  if (supported == 0) return nullptr;
  cudaMemPool_t pool = nullptr;
  GPUEXP_CUDA(cudaDeviceGetDefaultMemPool(&pool, device));
  std::uint64_t keep_everything = UINT64_MAX;
  GPUEXP_CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_everything));
  return pool;
}

}  // namespace

DeviceMemory::DeviceMemory(std::int64_t bytes) : bytes_(bytes) {
  if (bytes <= 0) return;
  const auto size = static_cast<std::size_t>(bytes);
  cudaMemPool_t const pool = retaining_pool();
  if (!pool) {
    GPUEXP_CUDA(cudaMalloc(&pointer_, size));
    return;
  }
  pooled_ = true;
  cudaError_t status = cudaMallocFromPoolAsync(&pointer_, size, pool, kLegacyStream);
  if (status == cudaErrorMemoryAllocation) {
    // The pool's free memory may be fragmented: return it and try again.
    static_cast<void>(cudaGetLastError());
    GPUEXP_CUDA(cudaMemPoolTrimTo(pool, 0));
    status = cudaMallocFromPoolAsync(&pointer_, size, pool, kLegacyStream);
  }
  GPUEXP_CUDA(status);
  GPUEXP_CUDA(cudaStreamSynchronize(kLegacyStream));
}

DeviceMemory::~DeviceMemory() {
  if (!pointer_) return;
  if (pooled_) {
    GPUEXP_CUDA_NOEXCEPT(cudaDeviceSynchronize());
    GPUEXP_CUDA_NOEXCEPT(cudaFreeAsync(pointer_, kLegacyStream));
    // Waits, because blocks merge only after the free has completed. Otherwise, consecutive equal
    // problems would have different addresses, and so different locations in L2.
    GPUEXP_CUDA_NOEXCEPT(cudaStreamSynchronize(kLegacyStream));
  } else {
    GPUEXP_CUDA_NOEXCEPT(cudaFree(pointer_));
  }
}

}  // namespace gpuexp
