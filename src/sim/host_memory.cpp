#include "sim/host_memory.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <new>
#include <utility>

#include <sys/mman.h>

namespace gpuexp {

namespace {

constexpr std::size_t kPage = std::size_t{2} << 20;  // as in the driver
constexpr std::size_t kMinAlignment = std::size_t{8} << 30;

std::size_t mapped_bytes(std::size_t bytes) {
  return (bytes / kPage + 1) * kPage;
}

}  // namespace

// Reserves addresses only, then releases all addresses outside of an aligned range.
HostMemory::HostMemory(std::size_t bytes) : bytes_(bytes) {
  const std::size_t size = mapped_bytes(bytes);
  const std::size_t alignment = std::max(std::bit_ceil(size), kMinAlignment);
  const std::size_t reserved = size + alignment;
  void* const all =
      mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  const auto first = reinterpret_cast<std::uintptr_t>(all);
  const std::uintptr_t begin = (first + alignment - 1) / alignment * alignment;
  begin_ = reinterpret_cast<void*>(begin);
  if (begin > first) munmap(all, begin - first);
  if (first + reserved > begin + size)
    munmap(reinterpret_cast<void*>(begin + size), first + reserved - begin - size);
  if (mprotect(begin_, size, PROT_READ | PROT_WRITE) != 0) {
    munmap(begin_, size);
    throw std::bad_alloc();
  }
}

HostMemory::~HostMemory() {
  if (begin_) munmap(begin_, mapped_bytes(bytes_));
}

HostMemory::HostMemory(HostMemory&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace gpuexp
