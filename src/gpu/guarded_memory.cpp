#include "gpu/guarded_memory.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include "gpu/device_ops.hpp"
#include "plan/plan.hpp"

namespace gpuexp {

namespace {

constexpr unsigned char kGuardPattern = 0xA5;

// Device code may work on it in place.
bool is_its_own_image(Residence residence) {
  return residence == Residence::device || residence == Residence::managed;
}

}  // namespace

const std::int64_t GuardedMemory::kGuard = kGuardBytes;

GuardedMemory::GuardedMemory(std::int64_t bytes, Residence residence)
    : bytes_(bytes), residence_(residence) {
  const std::int64_t size = bytes + 2 * kGuard;
  if (residence != Residence::managed) device_ = DeviceMemory(size);
  allocate(static_cast<std::size_t>(size));
  image_ = is_its_own_image(residence) ? memory_ : device_.as<unsigned char>();
}

GuardedMemory::~GuardedMemory() {
  release();
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept
    : bytes_(other.bytes_),
      residence_(other.residence_),
      memory_(std::exchange(other.memory_, nullptr)),
      image_(std::exchange(other.image_, nullptr)),
      device_(std::move(other.device_)) {}

void GuardedMemory::allocate(std::size_t size) {
  void* memory = nullptr;
  switch (residence_) {
    case Residence::device: memory = device_.get(); break;
    case Residence::managed: GPUEXP_CUDA(cudaMallocManaged(&memory, size)); break;
    case Residence::pinned: GPUEXP_CUDA(cudaHostAlloc(&memory, size, cudaHostAllocDefault)); break;
    case Residence::mapped: GPUEXP_CUDA(cudaHostAlloc(&memory, size, cudaHostAllocMapped)); break;
    case Residence::pageable:
      memory = std::malloc(size);
      if (!memory) {
        throw DeviceError(fmt::format("the host has no {} bytes of memory for a buffer", size),
                          DeviceFault::refused);
      }
  }
  memory_ = static_cast<unsigned char*>(memory);
}

void GuardedMemory::release() {
  if (!memory_) return;
  switch (residence_) {
    case Residence::device: break;  // its own
    case Residence::managed: GPUEXP_CUDA_NOEXCEPT(cudaFree(memory_)); break;
    case Residence::pinned:
    case Residence::mapped: GPUEXP_CUDA_NOEXCEPT(cudaFreeHost(memory_)); break;
    case Residence::pageable:
      // A copy may still read it.
      GPUEXP_CUDA_NOEXCEPT(cudaDeviceSynchronize());
      std::free(memory_);
  }
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
