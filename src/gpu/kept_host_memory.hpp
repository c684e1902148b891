#pragma once

#include <cstddef>

#include "family/family.hpp"

namespace gpuexp {

/// Uninitialized host memory with a residence other than Residence::device. The destructor caches
/// memory except managed memory, up to 12 GiB in total, for buffers of equal size and residence,
/// because locking the pages of a few GiB takes seconds (docs/measuring.md). Only the device's
/// thread may use this class.
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

  static void return_all() noexcept;

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  Residence residence_ = Residence::pageable;
};

}  // namespace gpuexp
