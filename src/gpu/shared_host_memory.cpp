#include "gpu/shared_host_memory.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/types.hpp"
#include "gpu/cuda_check.hpp"

namespace gpuexp {

namespace {

[[noreturn]] void refuse(const char* call, std::size_t bytes) {
  throw DeviceError(fmt::format("{} bytes of host memory that ranks share ({}): {}", bytes, call,
                                std::strerror(errno)),
                    DeviceFault::refused);
}

/// At a multiple of kAlignment: what is at a multiple of it in one process is in all of them.
unsigned char* mapped(const OwnedDescriptor& descriptor, std::size_t bytes) {
  constexpr std::size_t kAlignment = SharedHostMemory::kAlignment;
  void* const reserved = mmap(nullptr, bytes + kAlignment, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) refuse("mmap", bytes);
  auto* const begin = static_cast<unsigned char*>(reserved);
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  unsigned char* const at = begin + (kAlignment - address % kAlignment) % kAlignment;
  if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor.get(), 0) ==
      MAP_FAILED)
    refuse("mmap", bytes);
  if (at > begin) munmap(begin, static_cast<std::size_t>(at - begin));
  munmap(at + bytes, static_cast<std::size_t>(begin + kAlignment - at));
  return at;
}

}  // namespace

SharedHostMemory::SharedHostMemory(std::int64_t bytes, RankExchange& ranks) {
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  bytes_ = static_cast<std::size_t>(ceil_div(bytes, page) * page);
  const OwnedDescriptor own(memfd_create("gpuexp", MFD_CLOEXEC));
  if (!own) refuse("memfd_create", bytes_);
  if (ftruncate(own.get(), static_cast<off_t>(bytes_)) != 0) refuse("ftruncate", bytes_);
  const auto told = ranks.all_gather(std::to_string(bytes_), own.get());
  try {
    for (int rank = 0; rank < ranks.place().ranks; ++rank) {
      const RankExchange::Told& of_one = told[static_cast<std::size_t>(rank)];
      if (of_one.text != std::to_string(bytes_)) {
        throw DeviceError(fmt::format("rank {} shares {} bytes of host memory, this one {}", rank,
                                      of_one.text, bytes_),
                          DeviceFault::lost);
      }
      mapped_.push_back(mapped(rank == ranks.place().rank ? own : of_one.descriptor, bytes_));
      GPUEXP_CUDA(cudaHostRegister(mapped_.back(), bytes_, cudaHostRegisterDefault));
    }
  } catch (...) {
    unmap();
    throw;
  }
}

SharedHostMemory::~SharedHostMemory() {
  unmap();
}

void SharedHostMemory::unmap() {
  GPUEXP_CUDA_NOEXCEPT(cudaDeviceSynchronize());
  for (unsigned char* at : mapped_) {
    GPUEXP_CUDA_NOEXCEPT(cudaHostUnregister(at));
    munmap(at, bytes_);
  }
  mapped_.clear();
}

}  // namespace gpuexp
