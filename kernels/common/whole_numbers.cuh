// Inputs and steps of kernels that add integers in fp32. Sums are exact while they stay below
// 2^24, so results are compared bitwise for any number of steps.
#pragma once

#include "kernels/common/random.cuh"

namespace gpuexp {

constexpr int kIntegerRange = 1024;
constexpr int kMaxExactInteger = 1 << 24;  // fp32 represents all integers up to 2^24 exactly

/// Element i of an input: an integer from 0 to kIntegerRange - 1.
struct WholeStart {
  std::uint64_t seed;
  __host__ __device__ float operator()(std::int64_t i) const {
    return static_cast<float>(random_bits(seed, static_cast<std::uint64_t>(i)) % kIntegerRange);
  }
};

/// Performs kSteps dependent multiply-adds, which add kSteps · each to v. `one` is 1, which the
/// compiler does not know.
template <int kSteps>
__device__ __forceinline__ float add_in_steps(float v, float one, float each) {
#pragma unroll
  for (int i = 0; i < kSteps; ++i)
    v = fmaf(v, one, each);
  return v;
}

}  // namespace gpuexp
