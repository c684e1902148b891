#include "gpu/cache_flush.hpp"

#include "gpu/device_ops.hpp"

namespace gpuexp {

CacheFlush::CacheFlush(const DeviceSpec& device)
    : buffer_(ceil_div(kEvictingL2s * device.l2_bytes, 16) * 16), sink_(sizeof(unsigned)) {
  GPUEXP_CUDA(cudaMemset(buffer_.get(), 0, static_cast<std::size_t>(buffer_.bytes())));
  GPUEXP_CUDA(cudaDeviceSynchronize());
}

void CacheFlush::enqueue(const CudaStream& stream, bool forget_persisting) const {
  if (forget_persisting) GPUEXP_CUDA(cudaCtxResetPersistingL2Cache());
  queue_cache_flush(buffer_.get(), buffer_.bytes(), sink_.as<unsigned>(), stream.get());
}

}  // namespace gpuexp
