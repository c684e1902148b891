// Host memory of buffers, cached for later buffers of the same size.
#pragma once

#include <cstddef>

#include "family/family.hpp"

namespace gpuexp {

/// Uninitialized host memory of one residence other than Residence::device. Freed memory is cached,
/// up to 12 GiB in total, and reused by the next buffer of equal size and residence: locking the
/// pages of a few GiB takes seconds (docs/measuring.md), and experiments of one config often have
/// equal sizes. Only the device's thread may use it.
class KeptHostMemory {
 public:
  KeptHostMemory() = default;
  /// Throws DeviceError if the host cannot allocate the memory.
  KeptHostMemory(std::size_t bytes, Residence residence);
  ~KeptHostMemory();
  KeptHostMemory(const KeptHostMemory&) = delete;
  KeptHostMemory& operator=(const KeptHostMemory&) = delete;
  KeptHostMemory(KeptHostMemory&& other) noexcept;
  KeptHostMemory& operator=(KeptHostMemory&& other) noexcept;

  void* get() const { return memory_; }

  /// Returns all cached memory to the system.
  static void return_all() noexcept;

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  Residence residence_ = Residence::pageable;
};

}  // namespace gpuexp
