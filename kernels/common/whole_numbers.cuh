// Inputs and steps of kernels whose work is to add whole numbers in fp32: exact as long as sums
// stay below 2^24, so that any number of steps may be made and every result is compared bit by bit.
#pragma once

#include "kernels/common/random.cuh"

namespace gpuexp {

constexpr int kWholeStarts = 1024;
constexpr int kWholeEnd = 1 << 24;  // to which fp32 has all whole numbers

/// Element i of an input: a whole number below kWholeStarts.
struct WholeStart {
  std::uint64_t seed;
  __host__ __device__ float operator()(std::int64_t i) const {
    return static_cast<float>(random_bits(seed, static_cast<std::uint64_t>(i)) % kWholeStarts);
  }
};

/// `kSteps` multiply-adds, each of which needs the one before. With `one` = 1, which the compiler
/// does not know, they add kSteps * each.
template <int kSteps>
__device__ __forceinline__ float add_in_steps(float v, float one, float each) {
#pragma unroll
  for (int i = 0; i < kSteps; ++i)
    v = fmaf(v, one, each);
  return v;
}

}  // namespace gpuexp
