// Cache state before a sample: cache flush and the part of L2 set aside for persisting lines.
#pragma once

#include <cstdint>

#include "device/device_spec.hpp"
#include "gpu/resources.hpp"

namespace gpuexp {

/// Number of L2 sizes to read for a flush. L2 replacement is not strictly least-recently-used, so
/// reading one L2 size leaves earlier lines in place.
inline constexpr std::int64_t kFlushL2Sizes = 2;

/// Flushes the caches by reading a buffer of its own.
class CacheFlush {
 public:
  explicit CacheFlush(const DeviceSpec& device);

  /// `forget_persisting` first resets persisting lines to normal, because reads of other memory do
  /// not evict them. A profiler counts this call as a launch.
  void enqueue(const CudaStream& stream, bool forget_persisting) const;
  /// Bytes that a flush reads.
  std::int64_t bytes() const { return buffer_.bytes(); }

 private:
  DeviceMemory buffer_;
  DeviceMemory sink_;
};

/// Sets this part of L2 aside for persisting lines while it exists; 0 leaves the device unchanged.
/// The destructor sets nothing aside and resets persisting lines.
class L2SetAside {
 public:
  /// Throws DeviceError if the device sets less aside.
  explicit L2SetAside(std::int64_t bytes);
  ~L2SetAside();
  L2SetAside(const L2SetAside&) = delete;
  L2SetAside& operator=(const L2SetAside&) = delete;

  /// Sets nothing aside. A process may start with a part of L2 set aside: 11.25 MiB on an H200.
  static void clear();

  /// Bytes that the device currently sets aside.
  static std::int64_t now();

 private:
  bool is_set_ = false;
};

}  // namespace gpuexp
