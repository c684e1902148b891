// Operands are whole numbers whose products and sums are exact in the type that accumulates, so
// that results can be compared bit by bit: slices 2 and 3 of A are slices 0 and 1 with the sign
// turned, and B's repeat, so the sums stay small; but for one element of each row that differs by
// one, and lets each sum drift by one in every round of four steps. A step more or less shows.
//
// For the power that they take, such numbers stand for any: wgmma's rate at the power limit of an
// H200 is within 1 % of that with normally distributed operands in bf16 and fp16. Two things are
// needed for it. What `steps` has beyond whole rounds comes first, so that no sum returns to zero
// in every round (2 % faster in fp16). And tf32's 13 lowest bits, which tensor cores do not
// multiply but move, are random as well.
#pragma once

#include <cstring>

#include <cuda_fp8.h>

#include "kernels/common/random.cuh"
#include "kernels/common/types.cuh"

namespace gpuexp::tensor_rate {

// A whole number in [-largest, largest].
__host__ __device__ inline std::int32_t random_number(std::uint64_t seed, std::int64_t i,
                                                      std::int64_t largest) {
  const auto range = static_cast<std::uint64_t>(2 * largest + 1);
  const std::uint64_t bits = random_bits(seed, static_cast<std::uint64_t>(i));
  return static_cast<std::int32_t>(static_cast<std::int64_t>(bits % range) - largest);
}

// Element i of a row-major matrix of `depth` columns; `drift` is what makes its sums drift.
struct Numbers {
  std::uint64_t seed;
  std::int64_t largest;
  int depth;
  bool is_a;
  __host__ __device__ std::int32_t operator()(std::int64_t i) const {
    const int half = depth / 2;
    const std::int64_t row = i / depth;
    const int k = static_cast<int>(i % depth);
    const std::int64_t source = row * half + k % half;
    const std::int32_t sign = random_number(seed, ~row, 0x7FFF) < 0 ? -1 : 1;
    const bool drifts = k % half == 0;
    if (!is_a) return drifts ? sign : random_number(seed, source, largest);
    // One less than the largest, so that one more still is no larger.
    const std::int32_t number = random_number(seed, source, drifts ? largest - 1 : largest);
    return k < half ? number : drifts ? sign - number : -number;
  }
};

template <class In>
struct Converted {
  Numbers numbers;
  __host__ __device__ In operator()(std::int64_t i) const {
    return from_float<In>(static_cast<float>(numbers(i)));
  }
};
template <>
struct Converted<float> {
  Numbers numbers;
  __host__ __device__ float operator()(std::int64_t i) const {
    constexpr unsigned kNotOfTf32 = (1 << 13) - 1;
    const auto random = static_cast<unsigned>(random_bits(0, static_cast<std::uint64_t>(i)));
    const float number = static_cast<float>(numbers(i));
    std::uint32_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    bits |= random & kNotOfTf32;
    float with_noise;
    std::memcpy(&with_noise, &bits, sizeof with_noise);
    return with_noise;
  }
};
template <>
struct Converted<__nv_fp8_e4m3> {
  Numbers numbers;
  __host__ __device__ __nv_fp8_e4m3 operator()(std::int64_t i) const {
    return __nv_fp8_e4m3(static_cast<float>(numbers(i)));
  }
};

}  // namespace gpuexp::tensor_rate
