// Contents of buffers before a launch: element i depends only on the seed and on i, so host and
// device can compute the elements in any order. C++17, included by .cu files.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/random_bits.hpp"
#include "base/types.hpp"

namespace gpuexp::own {

/// Contents of a buffer before the launch.
enum class FillKind {
  uniform,   ///< from `from` to below `to`, with 24 random bits
  normal,    ///< half the sum of 12 uniform numbers: mean 0, standard deviation 1
  integers,  ///< whole numbers in [low, high)
  iota,      ///< the element's index
  zeros,
  constant,  ///< `from`
  nonzero,   ///< whole numbers from -high to high without 0
};

struct FillProgram {
  FillKind kind = FillKind::zeros;
  DataType type = DataType::fp32;
  std::uint64_t seed = 0;
  std::int64_t low = 0;   ///< lowest value; only of `integers`
  std::int64_t high = 1;  ///< above the highest value of `integers`; highest value of `nonzero`
  double from = -1;       ///< only of `uniform` and `constant`
  double to = 1;          ///< only of `uniform`
};

/// Uniform in [-1, 1), exact in fp32.
GPUEXP_HOST_DEVICE inline double signed_unit(std::uint64_t seed, std::uint64_t i) {
  return static_cast<double>(random_bits(seed, i) >> 40) * 0x1p-23 - 1;
}

/// Element i before it is rounded to the buffer's type. All operations are exact in fp64, or round
/// once, so host and device give equal results.
GPUEXP_HOST_DEVICE inline double fill_value(const FillProgram& fill, std::int64_t i) {
  const auto index = static_cast<std::uint64_t>(i);
  constexpr std::uint64_t kSummands = 12;
  switch (fill.kind) {
    case FillKind::uniform: {
      // One rounding on host and device, where the compiler decides about fused operations.
      const double unit = static_cast<double>(random_bits(fill.seed, index) >> 40) * 0x1p-24;
      return std::fma(fill.to - fill.from, unit, fill.from);
    }
    case FillKind::normal: {
      double sum = 0;
      for (std::uint64_t k = 0; k < kSummands; ++k)
        sum += signed_unit(fill.seed, kSummands * index + k);
      return sum / 2;
    }
    case FillKind::integers: {
      const auto range = static_cast<std::uint64_t>(fill.high - fill.low);
      return static_cast<double>(fill.low +
                                 static_cast<std::int64_t>(random_bits(fill.seed, index) % range));
    }
    case FillKind::iota: return static_cast<double>(i);
    case FillKind::constant: return fill.from;
    case FillKind::nonzero: {
      const auto count = 2 * static_cast<std::uint64_t>(fill.high);
      const auto drawn = static_cast<std::int64_t>(random_bits(fill.seed, index) % count);
      return static_cast<double>(drawn < fill.high ? drawn - fill.high : drawn - fill.high + 1);
    }
    case FillKind::zeros: break;
  }
  return 0;
}

/// Bits of `value` rounded to a 16-bit format with this number of exponent bits: 5 for fp16, 8 for
/// bf16. Rounds to nearest, ties to even; |value| must be below the format's maximum.
GPUEXP_HOST_DEVICE inline std::uint16_t rounded_to_16_bits(double value, int exponent_bits) {
  const int mantissa_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const unsigned sign = value < 0 ? 0x8000u : 0u;
  const double magnitude = value < 0 ? -value : value;
  if (magnitude == 0) return static_cast<std::uint16_t>(sign);
  int exponent = 0;
  double scaled = magnitude;
  while (scaled >= 2)
    scaled /= 2, ++exponent;
  while (scaled < 1 && exponent > 1 - bias)
    scaled *= 2, --exponent;
  // `scaled` is below 2, and at least 1 unless the result is subnormal.
  const double units = scaled * static_cast<double>(1 << mantissa_bits);
  auto whole = static_cast<unsigned>(units);
  const double rest = units - whole;
  if (rest > 0.5 || (rest == 0.5 && (whole & 1u) != 0)) ++whole;
  const unsigned hidden = 1u << mantissa_bits;
  const unsigned biased = static_cast<unsigned>(exponent + bias);
  // A carry out of the mantissa increments the exponent.
  const unsigned bits = whole < hidden ? whole : (biased << mantissa_bits) + (whole - hidden);
  return static_cast<std::uint16_t>(sign | bits);
}

template <class T>
GPUEXP_HOST_DEVICE inline void store_as(void* to, std::int64_t i, double value) {
  static_cast<T*>(to)[i] = static_cast<T>(value);
}

/// Stores the value, rounded to the type, as element i of the array `to`.
GPUEXP_HOST_DEVICE inline void store_element(void* to, DataType type, std::int64_t i,
                                             double value) {
  constexpr int kHalfExponentBits = 5;
  constexpr int kBf16ExponentBits = 8;
  switch (type) {
    case DataType::fp64: return store_as<double>(to, i, value);
    case DataType::fp32:
    case DataType::tf32: return store_as<float>(to, i, value);
    case DataType::fp16:
      static_cast<std::uint16_t*>(to)[i] = rounded_to_16_bits(value, kHalfExponentBits);
      return;
    case DataType::bf16:
      static_cast<std::uint16_t*>(to)[i] = rounded_to_16_bits(value, kBf16ExponentBits);
      return;
    case DataType::int8: return store_as<std::int8_t>(to, i, value);
    case DataType::int16: return store_as<std::int16_t>(to, i, value);
    case DataType::int32: return store_as<std::int32_t>(to, i, value);
    case DataType::int64: return store_as<std::int64_t>(to, i, value);
    case DataType::uint8: return store_as<std::uint8_t>(to, i, value);
    case DataType::uint16: return store_as<std::uint16_t>(to, i, value);
    case DataType::uint32: return store_as<std::uint32_t>(to, i, value);
    case DataType::uint64: return store_as<std::uint64_t>(to, i, value);
    case DataType::boolean: return store_as<bool>(to, i, value);
  }
}

}  // namespace gpuexp::own
