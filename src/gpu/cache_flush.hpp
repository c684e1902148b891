// What the caches hold before a sample: what is evicted, and what L2 sets aside.
#pragma once

#include <cstdint>

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

/// Sets so much of L2 aside while it lives; none: leaves the device as it is. At its end nothing is
/// set aside and no line persists.
class L2SetAside {
 public:
  /// Throws DeviceError where the device sets aside less.
  explicit L2SetAside(std::int64_t bytes);
  ~L2SetAside();
  L2SetAside(const L2SetAside&) = delete;
  L2SetAside& operator=(const L2SetAside&) = delete;

  /// Sets nothing aside. A process may begin with a part of L2 set aside: 11.25 MiB on an H200.
  static void clear();

  /// What the device sets aside now.
  static std::int64_t now();

 private:
  bool is_set_ = false;
};

}  // namespace gpuexp
