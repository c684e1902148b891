// A buffer's memory, wherever it lives, between guards.
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

/// Uninitialised memory with guard zones right before its first and right after its last byte; the
/// first lies at a multiple of buffer_alignment(). Device code that makes, checks and compares
/// contents works on an image in device memory: of memory that lives on the host, a copy that
/// pull() and push() carry over; of the rest, itself.
class GuardedMemory {
 public:
  /// With `peers`, device memory or page-locked host memory that all of them reach, and that each
  /// of them asks for.
  GuardedMemory(std::int64_t bytes, Residence residence, PeerGroup* peers = nullptr);
  GuardedMemory(GuardedMemory&&) noexcept = default;
  GuardedMemory& operator=(GuardedMemory&&) = delete;

  /// Where launches find it.
  unsigned char* data() const { return memory_ + kGuard; }
  unsigned char* image() const { return image_ + kGuard; }
  /// Where launches of this rank find that of another, which lies in its memory as this does here.
  unsigned char* data_of(int rank) const;
  std::int64_t bytes() const { return bytes_; }
  /// Whether it is in memory of the device's own, where looking at it costs no transfer.
  bool is_on_device() const { return residence_ == Residence::device; }
  bool is_managed() const { return residence_ == Residence::managed; }
  bool has(const void* address) const {
    return address >= memory_ && address < memory_ + bytes_ + 2 * kGuard;
  }
  /// Whether the steps have an address in the buffer or in its guards.
  bool is_reached_by(const PreparedSteps& steps) const {
    return steps.reach(memory_, bytes_ + 2 * kGuard);
  }

  /// Image and guards to where launches find them.
  void push(const CudaStream& stream) const;
  /// What launches left, guards included, to the image.
  void pull(const CudaStream& stream) const;

  /// Of the image.
  void set_guards(const CudaStream& stream) const;
  /// Adds the number of the image's guard bytes that were written to *d_changed.
  void queue_check(unsigned long long* d_changed, const CudaStream& stream) const;

 private:
  static const std::int64_t kGuard;

  void share(std::int64_t size, PeerGroup& peers);

  std::int64_t bytes_;
  Residence residence_;
  unsigned char* memory_ = nullptr;  ///< the guard before the buffer
  unsigned char* image_ = nullptr;   ///< likewise
  void* allocated_ = nullptr;
  KeptHostMemory host_;                   ///< memory that lives there and is not shared
  DeviceMemory device_;                   ///< memory that lives there, or the image of other memory
  std::vector<unsigned char*> of_ranks_;  ///< with peers, what is allocated of each
  std::shared_ptr<void> shared_;          ///< whose it then is
};

}  // namespace gpuexp
