// Sums of products as the tensor cores of compute capability 9.0 compute them in one instruction.
// NVIDIA does not document the rule below. It reproduces every bit that an H200 returned for
// mma.sync and wgmma in fp16, bf16, tf32, e4m3 and e5m2, over random elements, random bits,
// subnormal numbers, zeros, infinities and NaN (tests/gpu/tensor_sum_test.cpp). Published before in
// part: Fasi, Higham, Mikaitis, Pranesh, Numerical behavior of NVIDIA tensor cores, PeerJ Comput.
// Sci. 7:e330, 2021.
//
// The instruction aligns its accumulator and products to their largest exponent. A product's
// exponent is the sum of its factors' exponents, even if its significand is 2 or more. A subnormal
// number has the exponent of the smallest normal number. Each term is truncated to 25 binary places
// below the largest exponent (fp8: 13), and the terms are summed exactly. The sum is truncated to
// fp32 (fp8: to 13 fraction places), or rounded to fp16, ties to even. A sum that truncation or
// rounding makes zero is +0.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "sim/program.hpp"
#include "sim/small_floats.hpp"

namespace gpuexp::sim {

/// Number of binary places below the largest exponent that terms keep.
inline constexpr int kSumPlaces = 25;
inline constexpr int kFp8SumPlaces = 13;

/// Exponent of zero, too small to affect the alignment.
inline constexpr std::int32_t kNoExponent = -(1 << 20);

template <SmallFloat format>
GPUEXP_INLINED std::int32_t tensor_exponent(std::uint32_t bits) {
  constexpr std::uint32_t kExponents = (1u << format.exponent_bits) - 1;
  constexpr std::uint32_t kMagnitude = (1u << (format.exponent_bits + format.fraction_bits)) - 1;
  const auto exponent = static_cast<std::int32_t>(bits >> format.fraction_bits & kExponents);
  const std::int32_t aligning = std::max(exponent, 1) - format.bias();
  return (bits & kMagnitude) == 0 ? kNoExponent : aligning;
}

/// Number of sums that are computed together, as in a row of mma.sync's result.
inline constexpr unsigned kRowColumns = 8;
using SumRow = double __attribute__((vector_size(64)));
using ExponentRow = std::int32_t __attribute__((vector_size(32)));

/// A row of A and columns of B, both contiguous along K.
struct TensorFactors {
  const double* a;
  const std::int32_t* a_exponent;
  const SumRow* b;
  const ExponentRow* b_exponent;
  unsigned depth;
};

GPUEXP_INLINED double power_of_two(std::int64_t exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// Adds the products to c: truncates each term to `places` binary places and sums exactly. The
/// caller rounds the sums. All elements must be finite.
GPUEXP_INLINED void add_products(const TensorFactors& f, SumRow& c, const ExponentRow& c_exponent,
                                 int places) {
  using Whole = std::int32_t __attribute__((vector_size(32)));
  using Bits = std::int64_t __attribute__((vector_size(64)));
  // Keeps the scale in fp64's range; exponents of nonzero products are larger.
  constexpr std::int32_t kMinExponent = -900;
  ExponentRow largest = c_exponent;
  for (unsigned k = 0; k < f.depth; ++k) {
    const ExponentRow exponent = f.a_exponent[k] + f.b_exponent[k];
    largest = exponent > largest ? exponent : largest;
  }
  const ExponentRow smallest = ExponentRow{} + kMinExponent;
  largest = largest > smallest ? largest : smallest;
  const Bits aligned = __builtin_convertvector(largest, Bits);
  const Bits scale_bits = (1023 + places - aligned) << 52;
  const Bits unit_bits = (1023 - places + aligned) << 52;
  SumRow scale;
  SumRow unit;
  std::memcpy(&scale, &scale_bits, sizeof scale);
  std::memcpy(&unit, &unit_bits, sizeof unit);
  // Scaled products have at most 2 + 25 bits (fp8: 2 + 13). There are at most 16 products (fp8:
  // 32). `even` and `odd` each sum half of them, which fits in 32 bits.
  Whole even = __builtin_convertvector(c * scale, Whole);
  Whole odd{};
  for (unsigned k = 0; k < f.depth; k += 2) {
    even += __builtin_convertvector(f.a[k] * f.b[k] * scale, Whole);
    odd += __builtin_convertvector(f.a[k + 1] * f.b[k + 1] * scale, Whole);
  }
  c = (__builtin_convertvector(even, SumRow) + __builtin_convertvector(odd, SumRow)) * unit;
}

/// Like add_products(), for one column and any elements. Infinity and NaN propagate.
inline double sum_of_any(const TensorFactors& f, unsigned column, double c, std::int32_t c_exponent,
                         int places) {
  double plain = c;
  std::int32_t largest = c_exponent;
  for (unsigned k = 0; k < f.depth; ++k) {
    plain += f.a[k] * f.b[k][column];
    largest = std::max(largest, f.a_exponent[k] + f.b_exponent[k][column]);
  }
  if (!std::isfinite(plain)) return plain;
  if (largest < 2 * kNoExponent / 3) return 0;
  const double scale = power_of_two(places - largest);
  double sum = std::trunc(c * scale);
  for (unsigned k = 0; k < f.depth; ++k)
    sum += std::trunc(f.a[k] * f.b[k][column] * scale);
  return sum * power_of_two(largest - places);
}

/// Whether a sum of only zeros is -0.
inline bool is_negative_zero(const TensorFactors& f, unsigned column, double c) {
  bool negative = std::signbit(c);
  for (unsigned k = 0; k < f.depth; ++k)
    negative = negative && std::signbit(f.a[k] * f.b[k][column]);
  return negative;
}

/// Truncates a sum to fp32 and returns its bits. Zero is +0.
inline std::uint32_t sum_to_fp32(double sum) {
  constexpr std::uint64_t kBelow = (std::uint64_t{1} << 29) - 1;
  constexpr double kMinNormal = 0x1p-126;
  if (sum != sum) return 0x7fffffff;
  if (std::fabs(sum) >= kMinNormal)
    return std::bit_cast<std::uint32_t>(
        static_cast<float>(std::bit_cast<double>(std::bit_cast<std::uint64_t>(sum) & ~kBelow)));
  const auto subnormal = static_cast<std::uint32_t>(std::fabs(sum) * 0x1p149);
  return subnormal == 0 ? 0 : subnormal | (sum < 0 ? 0x80000000u : 0);
}

/// Truncates a row of sums to fp32. Returns false if a sum is subnormal in fp32 or zero.
GPUEXP_INLINED bool sums_to_fp32(const SumRow& sums, std::uint32_t* bits) {
  using Bits = std::int64_t __attribute__((vector_size(64)));
  using Floats = float __attribute__((vector_size(32)));
  constexpr std::int64_t kMagnitude = ~(std::int64_t{1} << 63);
  constexpr std::int64_t kBelow = (std::int64_t{1} << 29) - 1;
  Bits of;
  std::memcpy(&of, &sums, sizeof of);
  const Bits is_below = (of & kMagnitude) < std::bit_cast<std::int64_t>(0x1p-126);
  std::int64_t any_below = 0;
  for (unsigned column = 0; column < kRowColumns; ++column)
    any_below |= is_below[column];
  of &= ~kBelow;
  SumRow truncated;
  std::memcpy(&truncated, &of, sizeof truncated);
  const Floats floats = __builtin_convertvector(truncated, Floats);
  std::memcpy(bits, &floats, sizeof floats);
  return any_below == 0;
}

/// Truncates a sum of fp8 products to 13 fraction places and returns its bits in fp32.
inline std::uint32_t fp8_sum_to_fp32(double sum) {
  constexpr std::uint32_t kBelow = (1u << 10) - 1;
  const std::uint32_t bits = sum_to_fp32(sum);
  return std::isfinite(sum) ? bits & ~kBelow : bits;
}

/// Rounds a sum to fp16 and returns its bits. Zero is +0.
inline std::uint32_t sum_to_fp16(double sum) {
  const std::uint32_t bits = round_to<kFp16>(sum);
  return bits == 0x8000 ? 0 : bits;
}

}  // namespace gpuexp::sim
