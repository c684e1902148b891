// Memory of the host for buffers as large as a GPU's.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace gpuexp {

/// Taken from the host as it is touched. Aligned as the driver's pages are: banks of L1's tags are
/// chosen by a line's whole number, so that counts would depend on where the host has put a buffer.
class HostMemory {
 public:
  /// Throws std::bad_alloc.
  explicit HostMemory(std::size_t bytes) : begin_(nullptr, std::free), bytes_(bytes) {
    constexpr std::size_t kPage = std::size_t{2} << 20;
    begin_.reset(std::aligned_alloc(kPage, (bytes / kPage + 1) * kPage));
    if (!begin_) throw std::bad_alloc();
  }

  template <class T = void>
  T* data() const {
    return static_cast<T*>(begin_.get());
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<void, void (*)(void*)> begin_;
  std::size_t bytes_;
};

}  // namespace gpuexp
