#include "device/l2_cache.hpp"

#include <algorithm>

namespace gpuexp {

std::int64_t l2_fetch_bytes(const DeviceSpec& device) {
  constexpr int kAmpere = 80;
  return device.compute_capability() >= kAmpere ? 64 : 32;
}

double kept_share_at(double times_l2) {
  constexpr double kAllUpTo = 0.35;
  constexpr double kNoneFrom = 2 * kHalfKept - kAllUpTo;
  return std::clamp((kNoneFrom - times_l2) / (kNoneFrom - kAllUpTo), 0.0, 1.0);
}

double kept_l2_sectors(const DeviceSpec& device) {
  constexpr double kSectorBytes = 32;
  return kHalfKept * static_cast<double>(device.l2_bytes) / kSectorBytes;
}

}  // namespace gpuexp
