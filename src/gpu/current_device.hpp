#pragma once

#include <map>
#include <mutex>

#include <cuda_runtime_api.h>

#include "gpu/cuda_check.hpp"

namespace gpuexp {

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

/// A library's handle for each device. Handles are never destroyed, because the driver may be
/// unloaded before static destruction.
template <class Handle>
class DeviceHandles {
 public:
  /// Calls use(handle) with `device` current; on first use, calls create(&handle) before. A handle
  /// stores its stream, so only one thread at a time uses it.
  template <class Create, class Use>
  void use(int device, const Create& create, const Use& use) {
    const std::lock_guard lock(mutex_);
    const CurrentDevice current(device);
    Handle& handle = handles_[device];
    if (!handle) create(&handle);
    use(handle);
  }

 private:
  std::mutex mutex_;
  std::map<int, Handle> handles_;
};

}  // namespace gpuexp
