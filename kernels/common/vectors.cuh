// Vectors of elements that one access of a lane moves, and how wide it may be.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

namespace gpuexp {

/// Up to Hopper, a lane moves no more than that with one load or store.
inline constexpr std::int64_t kWidestAccess = 16;

/// Bytes of the widest access to rows of so many bytes, each of which begins where the one before
/// ends: the largest power of two that divides all their addresses.
constexpr std::int64_t widest_access(std::int64_t row_bytes) {
  const std::int64_t divisor = row_bytes & -row_bytes;
  return divisor < kWidestAccess ? divisor : kWidestAccess;
}

/// 1, 2 or 4 floats, moved by one access.
template <int kWidth>
struct alignas(kWidth * sizeof(float)) Floats {
  float at[kWidth];
};

}  // namespace gpuexp
