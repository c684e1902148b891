// The part of L2 that is set aside for persisting accesses (CUDA C++ Programming Guide, "Device
// Memory L2 Access Management").
#pragma once

#include <cstdint>

namespace gpuexp {

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
