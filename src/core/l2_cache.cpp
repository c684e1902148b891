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
  constexpr double kAllUpTo = 0.35;
  constexpr double kNoneFrom = 0.8;
  const double share = bytes / static_cast<double>(device.l2_bytes);
  return std::clamp((kNoneFrom - share) / (kNoneFrom - kAllUpTo), 0.0, 1.0);
}

}  // namespace gpuexp
