#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "family/family.hpp"
#include "gpu/kept_host_memory.hpp"
#include "gpu/launcher.hpp"
#include "gpu/peer_group.hpp"
#include "gpu/resources.hpp"

namespace gpuexp {

/// Uninitialized memory between two guard zones, aligned to buffer_alignment(). Kernels that
/// generate, check and compare contents access an image in device memory: for buffers on the host,
/// a copy that pull() and push() transfer; else the buffer itself.
class GuardedMemory {
 public:
  /// With `peers`, all ranks share device memory or page-locked host memory, and all must make the
  /// same call.
  GuardedMemory(std::int64_t bytes, Residence residence, PeerGroup* peers = nullptr);
  GuardedMemory(GuardedMemory&&) noexcept = default;
  GuardedMemory& operator=(GuardedMemory&&) = delete;

  /// Address that launches use.
  unsigned char* data() const { return memory_ + kGuard; }
  unsigned char* image() const { return image_ + kGuard; }
  /// Address at which launches of this rank access the buffer of another rank.
  unsigned char* data_of(int rank) const;
  std::int64_t bytes() const { return bytes_; }
  /// True for device memory, which checks access without a transfer.
  bool is_on_device() const { return residence_ == Residence::device; }
  bool is_managed() const { return residence_ == Residence::managed; }
  bool has(const void* address) const {
    return address >= memory_ && address < memory_ + bytes_ + 2 * kGuard;
  }
  bool is_reached_by(const PreparedSteps& steps) const {
    return steps.reach(memory_, bytes_ + 2 * kGuard);
  }

  /// Copies the image, including guards, to the buffer.
  void push(const CudaStream& stream) const;
  /// Copies the buffer, including guards, to the image.
  void pull(const CudaStream& stream) const;

  void set_guards(const CudaStream& stream) const;
  void queue_check(unsigned long long* d_changed, const CudaStream& stream) const;

 private:
  static const std::int64_t kGuard;

  void share(std::int64_t size, PeerGroup& peers);

  std::int64_t bytes_;
  Residence residence_;
  unsigned char* memory_ = nullptr;  ///< start of the guard before the buffer
  unsigned char* image_ = nullptr;   ///< start of the guard before the image
  void* allocated_ = nullptr;
  KeptHostMemory host_;  ///< buffers on the host that are not shared
  DeviceMemory device_;  ///< buffers on the device that are not shared, or images of host buffers
  std::vector<unsigned char*> of_ranks_;  ///< with peers, each rank's allocation
  std::shared_ptr<void> shared_;          ///< owner of the shared memory
};

}  // namespace gpuexp
