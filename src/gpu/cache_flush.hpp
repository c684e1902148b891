// Evicting what the caches hold.
#pragma once

#include "device/device_spec.hpp"
#include "gpu/resources.hpp"

namespace gpuexp {

/// Replacement in L2 is not strictly least-recently-used, so one L2's worth of reads leaves
/// survivors: so many evict what was there.
inline constexpr std::int64_t kEvictingL2s = 2;

/// Reads memory of its own until nothing else is left in the caches.
class CacheFlush {
 public:
  explicit CacheFlush(const DeviceSpec& device);

  /// `forget_persisting`: first ends the persistence of lines in the part of L2 that is set aside,
  /// which reads of others do not evict. A profiler takes that for a launch.
  void enqueue(const CudaStream& stream, bool forget_persisting) const;
  /// That it reads.
  std::int64_t bytes() const { return buffer_.bytes(); }

 private:
  DeviceMemory buffer_;
  DeviceMemory sink_;
};

}  // namespace gpuexp
