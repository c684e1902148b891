// Cache state before a sample: the flush, and the part of L2 set aside for persisting lines.
#pragma once

#include <cstdint>

#include "device/device_spec.hpp"
#include "gpu/resources.hpp"

namespace gpuexp {

/// Bytes that a flush reads, in multiples of the L2 size. L2 replacement is not strictly
/// least-recently-used, so reading one L2 size leaves some earlier lines in place.
inline constexpr std::int64_t kFlushL2Sizes = 2;

/// Flushes the caches by reading a buffer of its own.
class CacheFlush {
 public:
  explicit CacheFlush(const DeviceSpec& device);

  /// `forget_persisting` first resets persisting lines to normal, because reads of other lines do
  /// not evict them. A profiler counts the reset as a launch.
  void enqueue(const CudaStream& stream, bool forget_persisting) const;
  std::int64_t bytes() const { return buffer_.bytes(); }

 private:
  DeviceMemory buffer_;
  DeviceMemory sink_;
};

/// Sets `bytes` of L2 aside for persisting lines; 0 changes nothing. The destructor ends the
/// set-aside and resets persisting lines.
class L2SetAside {
 public:
  /// Throws DeviceError if the device sets less aside.
  explicit L2SetAside(std::int64_t bytes);
  ~L2SetAside();
  L2SetAside(const L2SetAside&) = delete;
  L2SetAside& operator=(const L2SetAside&) = delete;

  /// Ends any set-aside. A process may start with one: 11.25 MiB on an H200.
  static void clear();

  /// Bytes of L2 that the device currently sets aside.
  static std::int64_t now();

 private:
  bool is_set_ = false;
};

}  // namespace gpuexp
