// Counting 32-byte sectors: the unit in which L1, L2 and DRAM exchange data.
#pragma once

#include <cstdint>

namespace gpuexp {

inline constexpr std::int64_t kSectorBytes = 32;

/// Bytes of all sectors that hold at least one of the `count` elements first, first + stride, …,
/// of an array of T that starts on a sector (buffers do). Each sector counts once.
template <class T>
double sector_bytes(std::int64_t count, std::int64_t stride = 1, std::int64_t first = 0) {
  constexpr std::int64_t kPerSector = kSectorBytes / static_cast<std::int64_t>(sizeof(T));
  static_assert(kPerSector * sizeof(T) == kSectorBytes, "an element must not straddle sectors");
  if (count == 0) return 0.0;
  // Steps shorter than a sector skip none between the first and the last; longer ones never meet
  // the same sector twice.
  const std::int64_t last = first + (count - 1) * stride;
  const std::int64_t sectors =
      stride < kPerSector ? last / kPerSector - first / kPerSector + 1 : count;
  return static_cast<double>(sectors * kSectorBytes);
}

}  // namespace gpuexp
