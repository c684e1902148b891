#include "gpu/guarded_memory.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/types.hpp"
#include "gpu/cuda_check.hpp"
#include "gpu/device_ops.hpp"
#include "plan/plan.hpp"
#include "run/rank_exchange.hpp"

namespace gpuexp {

namespace {

/// Host memory of equal size on every rank, shared as file descriptors (memfd_create). This process
/// maps the memory of all ranks and page-locks it for its GPU.
class SharedHostMemory {
 public:
  /// All ranks must call the constructor in the same order. Throws DeviceError.
  SharedHostMemory(std::int64_t bytes, RankExchange& ranks);
  ~SharedHostMemory();
  SharedHostMemory(const SharedHostMemory&) = delete;
  SharedHostMemory& operator=(const SharedHostMemory&) = delete;

  /// Alignment of the first byte in every process; at least buffer_alignment() of any buffer.
  static constexpr std::size_t kAlignment = std::size_t{2} << 20;

  unsigned char* of(int rank) const { return mapped_[static_cast<std::size_t>(rank)]; }

 private:
  void unmap();

  std::size_t bytes_;  ///< whole pages
  std::vector<unsigned char*> mapped_;
};

[[noreturn]] void refuse(const char* call, std::size_t bytes) {
  throw DeviceError(fmt::format("{} bytes of host memory that ranks share ({}): {}", bytes, call,
                                std::strerror(errno)),
                    DeviceFault::refused);
}

/// Maps the memory at a multiple of kAlignment, so that an offset has the same alignment in every
/// process.
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

SharedHostMemory::SharedHostMemory(std::int64_t bytes, RankExchange& ranks) {
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  bytes_ = static_cast<std::size_t>(ceil_div(bytes, page) * page);
  const OwnedDescriptor own(memfd_create("gpuexp", MFD_CLOEXEC));
  if (!own) refuse("memfd_create", bytes_);
  if (ftruncate(own.get(), static_cast<off_t>(bytes_)) != 0) refuse("ftruncate", bytes_);
  const auto told = ranks.all_gather(std::to_string(bytes_), own.get());
  try {
    for (int rank = 0; rank < ranks.place().ranks; ++rank) {
      const RankExchange::RankMessage& of_one = told[static_cast<std::size_t>(rank)];
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

constexpr unsigned char kGuardPattern = 0xA5;

bool is_its_own_image(Residence residence) {
  return residence == Residence::device || residence == Residence::managed;
}

// The lowest address of a guard that ends at a multiple of `alignment`.
unsigned char* guard_before_aligned(void* allocated, std::int64_t alignment) {
  const auto begin = reinterpret_cast<std::uintptr_t>(allocated) + kGuardBytes;
  const auto step = static_cast<std::uintptr_t>(alignment);
  return reinterpret_cast<unsigned char*>((begin + step - 1) / step * step - kGuardBytes);
}

}  // namespace

const std::int64_t GuardedMemory::kGuard = kGuardBytes;

GuardedMemory::GuardedMemory(std::int64_t bytes, Residence residence, PeerGroup* peers)
    : bytes_(bytes), residence_(residence) {
  const std::int64_t alignment = buffer_alignment(bytes);
  const std::int64_t size = bytes + 2 * kGuard + alignment;
  const bool is_shared =
      peers && (residence == Residence::device || residence == Residence::pinned);
  if (!is_its_own_image(residence) || (residence == Residence::device && !is_shared))
    device_ = DeviceMemory(size);
  if (is_shared) {
    share(size, *peers);
  } else if (residence == Residence::device) {
    allocated_ = device_.get();
  } else {
    host_ = KeptHostMemory(static_cast<std::size_t>(size), residence);
    allocated_ = host_.get();
  }
  memory_ = guard_before_aligned(allocated_, alignment);
  image_ = is_its_own_image(residence) ? memory_ : guard_before_aligned(device_.get(), alignment);
}

void GuardedMemory::share(std::int64_t size, PeerGroup& peers) {
  const auto take = [&](const auto& memory) {
    for (int rank = 0; rank < peers.ranks(); ++rank)
      of_ranks_.push_back(memory->of(rank));
    shared_ = memory;
  };
  if (residence_ == Residence::device) {
    take(peers.memory(size));
  } else {
    take(std::make_shared<SharedHostMemory>(size, peers.exchange()));
  }
  allocated_ = of_ranks_[static_cast<std::size_t>(peers.rank())];
}

unsigned char* GuardedMemory::data_of(int rank) const {
  if (!shared_) return data();
  return of_ranks_[static_cast<std::size_t>(rank)] +
         (data() - static_cast<unsigned char*>(allocated_));
}

void GuardedMemory::push(const CudaStream& stream) const {
  if (is_its_own_image(residence_)) return;
  GPUEXP_CUDA(cudaMemcpyAsync(memory_, image_, static_cast<std::size_t>(bytes_ + 2 * kGuard),
                              cudaMemcpyDeviceToHost, stream.get()));
}

void GuardedMemory::pull(const CudaStream& stream) const {
  if (is_its_own_image(residence_)) return;
  GPUEXP_CUDA(cudaMemcpyAsync(image_, memory_, static_cast<std::size_t>(bytes_ + 2 * kGuard),
                              cudaMemcpyHostToDevice, stream.get()));
}

void GuardedMemory::set_guards(const CudaStream& stream) const {
  for (unsigned char* guard : {image_, image() + bytes_}) {
    GPUEXP_CUDA(
        cudaMemsetAsync(guard, kGuardPattern, static_cast<std::size_t>(kGuard), stream.get()));
  }
}

void GuardedMemory::queue_check(unsigned long long* d_changed, const CudaStream& stream) const {
  for (const unsigned char* guard : {image_, image() + bytes_})
    queue_guard_check(guard, kGuard, kGuardPattern, d_changed, stream.get());
}

}  // namespace gpuexp
