// Memory of the host for buffers as large as a GPU's.
#pragma once

#include <cstddef>

namespace gpuexp {

/// Taken from the host as it is touched. Aligned to 8 GiB, and to a power of two that is not less
/// than its size: banks of L1's tags are chosen by a hash of a line's whole number, and its sets by
/// its place within 8 GiB, and so that counts do not depend on where the host has put a buffer, no
/// address within one may carry into the bits of its beginning.
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
