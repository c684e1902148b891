// A buffer's memory, on the device or the host, with guard zones around it.
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

/// Uninitialized memory with a guard zone immediately before its first and after its last byte. The
/// first byte is aligned to buffer_alignment(). Device code that generates, checks and compares
/// contents works on an image in device memory. For buffers on the host the image is a copy, which
/// pull() and push() transfer; for all others it is the buffer itself.
class GuardedMemory {
 public:
  /// With `peers`, device memory or page-locked host memory is shared with all of them; every peer
  /// must make the same call.
  GuardedMemory(std::int64_t bytes, Residence residence, PeerGroup* peers = nullptr);
  GuardedMemory(GuardedMemory&&) noexcept = default;
  GuardedMemory& operator=(GuardedMemory&&) = delete;

  /// Address for launches.
  unsigned char* data() const { return memory_ + kGuard; }
  unsigned char* image() const { return image_ + kGuard; }
  /// Address at which launches of this rank access another rank's buffer, which has the same offset
  /// in its allocation.
  unsigned char* data_of(int rank) const;
  std::int64_t bytes() const { return bytes_; }
  /// True for device memory, which can be checked without a transfer.
  bool is_on_device() const { return residence_ == Residence::device; }
  bool is_managed() const { return residence_ == Residence::managed; }
  bool has(const void* address) const {
    return address >= memory_ && address < memory_ + bytes_ + 2 * kGuard;
  }
  /// True if the steps access the buffer or its guards.
  bool is_reached_by(const PreparedSteps& steps) const {
    return steps.reach(memory_, bytes_ + 2 * kGuard);
  }

  /// Copies the image, including guards, to the buffer.
  void push(const CudaStream& stream) const;
  /// Copies the buffer, including guards, to the image.
  void pull(const CudaStream& stream) const;

  /// Writes the guards of the image.
  void set_guards(const CudaStream& stream) const;
  /// Adds the number of modified guard bytes in the image to *d_changed.
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
