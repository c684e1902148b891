#pragma once

#include <cstddef>

namespace gpuexp {

/// Host memory that is committed on first touch, aligned to 8 GiB and to a power of two that is at
/// least its size. L1 selects tag banks by a hash of the line number, and sets by the offset within
/// 8 GiB. The alignment makes counts independent of the buffer's address, because no offset carries
/// into the bits of the start address.
class HostMemory {
 public:
  /// Throws std::bad_alloc.
  explicit HostMemory(std::size_t bytes);
  ~HostMemory();
  HostMemory(HostMemory&& other) noexcept;
  HostMemory& operator=(HostMemory&& other) noexcept;

  template <class T = void>
  T* data() const {
    return static_cast<T*>(begin_);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  void* begin_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace gpuexp
