// Inputs and steps of kernels that add whole numbers in fp32. Sums are exact while they stay below
// 2^24, so results are compared bit by bit regardless of the number of steps.
#pragma once

#include "kernels/common/random.cuh"

namespace gpuexp {

constexpr int kIntegerRange = 1024;
constexpr int kMaxExactInteger = 1 << 24;  // fp32 represents all whole numbers up to this

/// Element i of an input: a whole number below kIntegerRange.
struct WholeStart {
  std::uint64_t seed;
  __host__ __device__ float operator()(std::int64_t i) const {
    return static_cast<float>(random_bits(seed, static_cast<std::uint64_t>(i)) % kIntegerRange);
  }
};

/// Performs kSteps dependent multiply-adds. `one` is 1, which the compiler does not know, so that
/// the steps add kSteps * each to v.
template <int kSteps>
__device__ __forceinline__ float add_in_steps(float v, float one, float each) {
#pragma unroll
  for (int i = 0; i < kSteps; ++i)
    v = fmaf(v, one, each);
  return v;
}

}  // namespace gpuexp
