#pragma once

#include <cstdint>
#include <utility>

#include <cuda_runtime_api.h>

#include "gpu/cuda_check.hpp"

namespace gpuexp {

/// Uninitialized device memory, 256-byte aligned, ready on every stream. The destructor waits for
/// all work on the device. The process keeps freed memory, because the driver would clear returned
/// memory in the background: on an H200, for 2.5 ms per GiB with a tenth of the DRAM bandwidth
/// (docs/results/README.md).
class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(std::int64_t bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(pointer_, other.pointer_);
    std::swap(bytes_, other.bytes_);
    std::swap(pooled_, other.pooled_);
    return *this;
  }

  void* get() const { return pointer_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(pointer_);
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  void* pointer_ = nullptr;
  std::int64_t bytes_ = 0;
  bool pooled_ = false;  ///< from the device's memory pool, which few devices lack
};

class CudaStream {
 public:
  // By default, does not wait for the legacy stream, which libraries may use. Launches that
  // demonstrate such waits pass other flags.
  CudaStream() : CudaStream(cudaStreamNonBlocking) {}
  explicit CudaStream(unsigned flags) { GPUEXP_CUDA(cudaStreamCreateWithFlags(&stream_, flags)); }
  CudaStream(unsigned flags, int priority) {
    GPUEXP_CUDA(cudaStreamCreateWithPriority(&stream_, flags, priority));
  }
  ~CudaStream() {
    if (stream_) GPUEXP_CUDA_NOEXCEPT(cudaStreamDestroy(stream_));
  }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  CudaStream(CudaStream&& other) noexcept { *this = std::move(other); }
  CudaStream& operator=(CudaStream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  cudaStream_t get() const { return stream_; }
  void synchronize() const { GPUEXP_CUDA(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

class CudaEvent {
 public:
  CudaEvent() { GPUEXP_CUDA(cudaEventCreate(&event_)); }
  ~CudaEvent() { GPUEXP_CUDA_NOEXCEPT(cudaEventDestroy(event_)); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  cudaEvent_t get() const { return event_; }
  void record(const CudaStream& stream) const {
    GPUEXP_CUDA(cudaEventRecord(event_, stream.get()));
  }
  void synchronize() const { GPUEXP_CUDA(cudaEventSynchronize(event_)); }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Microseconds between two recorded events. The resolution is about 0.5 µs (CUDA Runtime API,
/// cudaEventElapsedTime).
inline double elapsed_us(const CudaEvent& start, const CudaEvent& stop) {
  float ms = 0;
  GPUEXP_CUDA(cudaEventElapsedTime(&ms, start.get(), stop.get()));
  return 1e3 * static_cast<double>(ms);
}

}  // namespace gpuexp
