// Host memory of buffers, which is kept for the next buffer of its size.
#pragma once

#include <cstddef>

#include "family/family.hpp"

namespace gpuexp {

/// Uninitialised host memory of one residence other than Residence::device. What a buffer frees is
/// kept, up to 12 GiB in all, and the next buffer of as many bytes and the same residence takes it:
/// the system takes seconds to lock the pages of a few GiB (docs/measuring.md), and experiments of
/// one config often have equal sizes. Used by one thread, that of the device.
class KeptHostMemory {
 public:
  KeptHostMemory() = default;
  /// Throws DeviceError where the host has no such memory.
  KeptHostMemory(std::size_t bytes, Residence residence);
  ~KeptHostMemory();
  KeptHostMemory(const KeptHostMemory&) = delete;
  KeptHostMemory& operator=(const KeptHostMemory&) = delete;
  KeptHostMemory(KeptHostMemory&& other) noexcept;
  KeptHostMemory& operator=(KeptHostMemory&& other) noexcept;

  void* get() const { return memory_; }

  /// Gives what is kept, and is nobody's, back to the system.
  static void return_all() noexcept;

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  Residence residence_ = Residence::pageable;
};

}  // namespace gpuexp
