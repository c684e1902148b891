#include "gpu/kept_host_memory.hpp"

#include <cstdlib>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "gpu/cuda_check.hpp"

namespace gpuexp {

namespace {

using Kept = std::multimap<std::pair<Residence, std::size_t>, void*>;

Kept& kept() {
  static Kept all;
  return all;
}

/// More memory than this is returned to the system, because other programs cannot use cached
/// memory.
constexpr std::size_t kMaxKeptBytes = std::size_t{12} << 30;

bool keep(void* memory, std::size_t bytes, Residence residence) noexcept try {
  // Managed memory is not cached, because it would keep the memory advice of its previous buffer.
  if (residence == Residence::managed) return false;
  std::size_t all = bytes;
  for (const auto& [kind, other] : kept())
    all += kind.second;
  if (all > kMaxKeptBytes) return false;
  kept().emplace(std::pair(residence, bytes), memory);
  return true;
} catch (...) {
  return false;
}

/// Returns null if pageable memory cannot be allocated; for other residences, throws CudaError.
void* allocate(std::size_t bytes, Residence residence) {
  void* memory = nullptr;
  switch (residence) {
    case Residence::device: break;  // not host memory
    case Residence::managed: GPUEXP_CUDA(cudaMallocManaged(&memory, bytes)); break;
    case Residence::pinned: GPUEXP_CUDA(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault)); break;
    case Residence::write_combined:
      GPUEXP_CUDA(cudaHostAlloc(&memory, bytes, cudaHostAllocWriteCombined));
      break;
    case Residence::mapped: GPUEXP_CUDA(cudaHostAlloc(&memory, bytes, cudaHostAllocMapped)); break;
    case Residence::pageable: memory = std::malloc(bytes);
  }
  return memory;
}

void free_host_memory(void* memory, Residence residence) noexcept {
  switch (residence) {
    case Residence::device: break;
    case Residence::managed: GPUEXP_CUDA_NOEXCEPT(cudaFree(memory)); break;
    case Residence::pinned:
    case Residence::write_combined:
    case Residence::mapped: GPUEXP_CUDA_NOEXCEPT(cudaFreeHost(memory)); break;
    case Residence::pageable: std::free(memory);
  }
}

}  // namespace

KeptHostMemory::KeptHostMemory(std::size_t bytes, Residence residence)
    : bytes_(bytes), residence_(residence) {
  if (const auto found = kept().find({residence, bytes}); found != kept().end()) {
    memory_ = found->second;
    kept().erase(found);
    return;
  }
  try {
    memory_ = allocate(bytes, residence);
  } catch (const CudaError&) {
    if (kept().empty()) throw;
  }
  if (!memory_ && !kept().empty()) {
    return_all();
    memory_ = allocate(bytes, residence);
  }
  if (!memory_) {
    throw DeviceError(
        fmt::format("the host cannot allocate {} bytes of memory for a buffer", bytes),
        DeviceFault::refused);
  }
}

// Synchronizes, because a copy may still access the memory.
KeptHostMemory::~KeptHostMemory() {
  if (!memory_) return;
  GPUEXP_CUDA_NOEXCEPT(cudaDeviceSynchronize());
  if (!keep(memory_, bytes_, residence_)) free_host_memory(memory_, residence_);
}

KeptHostMemory::KeptHostMemory(KeptHostMemory&& other) noexcept {
  *this = std::move(other);
}

KeptHostMemory& KeptHostMemory::operator=(KeptHostMemory&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  std::swap(residence_, other.residence_);
  return *this;
}

void KeptHostMemory::return_all() noexcept {
  for (const auto& [kind, memory] : kept())
    free_host_memory(memory, kind.first);
  kept().clear();
}

}  // namespace gpuexp
