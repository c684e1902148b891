// Vectors of elements that a lane loads or stores in one access.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

namespace gpuexp {

/// Maximum number of bytes per load or store of a lane, up to Hopper.
inline constexpr std::int64_t kWidestAccess = 16;

/// Number of bytes of the widest access to contiguous rows of `row_bytes` bytes: the largest
/// power of two, at most kWidestAccess, that divides row_bytes.
constexpr std::int64_t widest_access(std::int64_t row_bytes) {
  const std::int64_t divisor = row_bytes & -row_bytes;
  return divisor < kWidestAccess ? divisor : kWidestAccess;
}

template <int kWidth>
struct alignas(kWidth * sizeof(float)) Floats {
  float at[kWidth];
};

}  // namespace gpuexp
