#include "core/l2_cache.hpp"

#include <algorithm>

namespace gpuexp {

std::int64_t l2_fetch_bytes(const DeviceSpec& device) {
  constexpr int kAmpere = 80;
  return device.compute_capability() >= kAmpere ? 64 : 32;
}

double written_back(double bytes, const DeviceSpec& device) {
  constexpr double kDirtyShare = 0.25;
  return std::max(0.0, bytes - kDirtyShare * static_cast<double>(device.l2_bytes));
}

double kept_share(double bytes, const DeviceSpec& device) {
  const double l2 = static_cast<double>(device.l2_bytes);
  return std::clamp((l2 - bytes) / (l2 / 2), 0.0, 1.0);
}

}  // namespace gpuexp
