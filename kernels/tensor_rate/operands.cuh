// Operands of tensor_rate: integers whose products and sums are exact in the accumulator type, so
// results can be compared bitwise. Slices 2 and 3 of A are slices 0 and 1 with the opposite sign,
// and the slices of B repeat, so sums stay small. One element of each row of A differs by one, so
// each sum drifts by one in every round of four steps, and a missing or additional step changes the
// result.
//
// The power that these operands use is representative: at the power limit of an H200, the rate of
// wgmma with bf16 and fp16 operands is within 1 % of the rate with normally distributed operands.
// This requires two properties. The steps of the incomplete round come first, so that no sum
// returns to zero in every round (2 % faster in fp16). The 13 lowest bits of tf32 operands, which
// tensor cores do not multiply, are random as well.
#pragma once

#include <cstring>

#include <cuda_fp8.h>

#include "kernels/common/random.cuh"
#include "kernels/common/types.cuh"

namespace gpuexp::tensor_rate {

// Returns a random integer in [-largest, largest].
__host__ __device__ inline std::int32_t random_number(std::uint64_t seed, std::int64_t i,
                                                      std::int64_t largest) {
  const auto range = static_cast<std::uint64_t>(2 * largest + 1);
  const std::uint64_t bits = random_bits(seed, static_cast<std::uint64_t>(i));
  return static_cast<std::int32_t>(static_cast<std::int64_t>(bits % range) - largest);
}

// Element i of a row-major matrix of `depth` columns. The first element of each half of a row
// causes the drift of the sums.
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
    // At most largest - 1 where the drift is added, so that the element does not exceed `largest`.
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
