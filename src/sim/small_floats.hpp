// Floating-point formats of at most 32 bits, handled as bit patterns.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace gpuexp::sim {

enum class Rounding : std::uint8_t { nearest, down, up, zero };

struct SmallFloat {
  int exponent_bits;
  int fraction_bits;
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};
inline constexpr SmallFloat kFp16{5, 10};
inline constexpr SmallFloat kBf16{8, 7};
inline constexpr SmallFloat kTf32{8, 10};
inline constexpr SmallFloat kE5m2{5, 2};
inline constexpr SmallFloat kE4m3{4, 3};
inline constexpr SmallFloat kFp32{8, 23};

/// Whether a value between two representable numbers is rounded to the larger magnitude. `rest` is
/// the distance from the smaller magnitude, and `half` is half the distance between the two
/// numbers.
inline bool is_rounded_up(Rounding rounding, bool is_negative, bool is_odd, std::uint64_t rest,
                          std::uint64_t half) {
  switch (rounding) {
    case Rounding::nearest: return rest > half || (rest == half && is_odd);
    case Rounding::down: return rest != 0 && is_negative;
    case Rounding::up: return rest != 0 && !is_negative;
    case Rounding::zero: return false;
  }
  return false;
}

/// Rounds a value. A value beyond the range becomes infinity or the largest number. NaN has all
/// bits set except the sign, as in the GPU's conversions.
template <SmallFloat format>
std::uint32_t round_to(double value, Rounding rounding = Rounding::nearest) {
  constexpr int kFraction = 52;  // fraction bits of fp64
  constexpr std::uint32_t kSign = 1u << (format.exponent_bits + format.fraction_bits);
  constexpr std::uint32_t kInfinity = ((1u << format.exponent_bits) - 1) << format.fraction_bits;
  constexpr int kMinExponent = 1 - format.bias();
  if (value != value) return kSign - 1;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint32_t sign = bits >> 63 ? kSign : 0;
  const int exponent = static_cast<int>(bits >> kFraction & 0x7ff) - 1023;
  const std::uint64_t significand =
      (bits & ((std::uint64_t{1} << kFraction) - 1)) | std::uint64_t{1} << kFraction;
  const int below = exponent < kMinExponent ? kMinExponent - exponent : 0;
  const int shift = kFraction - format.fraction_bits + below;
  const bool is_negative = sign != 0;
  if (shift > kFraction + 1) {  // below half of the smallest number
    const std::uint64_t rest = value != 0 ? 1 : 0;
    return sign | (is_rounded_up(rounding, is_negative, false, rest, 2) ? 1 : 0);
  }
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  const std::uint64_t rest = significand & (2 * half - 1);
  std::uint64_t rounded = significand >> shift;
  rounded += is_rounded_up(rounding, is_negative, (rounded & 1) != 0, rest, half) ? 1 : 0;
  if (below > 0) return sign | static_cast<std::uint32_t>(rounded);
  const std::int64_t result = (std::int64_t{exponent - kMinExponent} << format.fraction_bits) +
                              static_cast<std::int64_t>(rounded);
  if (result < kInfinity) return sign | static_cast<std::uint32_t>(result);
  const bool is_infinite = exponent == 1024 || is_rounded_up(rounding, is_negative, true, 1, 1);
  return sign | (is_infinite ? kInfinity : kInfinity - 1);
}

/// Rounds to e4m3, which has no infinity: values beyond 448 become the largest number.
inline std::uint32_t round_to_e4m3(double value) {
  constexpr std::uint32_t kLargest = 0x7e;
  if (value != value) return 0x7f;
  // Numbers use the largest exponent, which other formats use for infinity.
  const std::uint32_t sign = std::signbit(value) ? 0x80 : 0;
  const double magnitude = std::fabs(value);
  // Halfway from 448 to 480, which e4m3 cannot represent.
  if (magnitude > 464) return sign | kLargest;
  if (magnitude >= 248)  // halfway from 240 to 256
    return sign | (0x78 + static_cast<std::uint32_t>(std::nearbyint(magnitude / 32)) - 8);
  return sign | round_to<kE4m3>(magnitude);
}

/// Rounds to e5m2. Values beyond the range become the largest number.
inline std::uint32_t round_to_e5m2(double value) {
  constexpr std::uint32_t kInfinity = 0x7c;
  const std::uint32_t bits = round_to<kE5m2>(value);
  return (bits & 0x7f) == kInfinity ? bits - 1 : bits;
}

/// Exact value of a number in the format. Ignores bits above the format's bits.
template <SmallFloat format>
float value_of(std::uint32_t bits) {
  constexpr int kFraction = 23;  // fraction bits of fp32
  constexpr int kUp = kFraction - format.fraction_bits;
  constexpr std::uint32_t kMagnitude = (1u << (format.exponent_bits + format.fraction_bits)) - 1;
  const std::uint32_t sign = (bits >> (format.exponent_bits + format.fraction_bits) & 1) << 31;
  if constexpr (format.exponent_bits == 8) {
    return std::bit_cast<float>(sign | (bits & kMagnitude) << kUp);
  } else {
    // Shifted to fp32's position, the value is too small by the difference of the biases, also if
    // it is subnormal. Infinity and NaN are not scaled.
    constexpr float kScale = std::bit_cast<float>((127u + 127u - format.bias()) << kFraction);
    const std::uint32_t magnitude = (bits & kMagnitude) << kUp;
    constexpr std::uint32_t kSpecial = ((1u << format.exponent_bits) - 1) << kFraction;
    // The product is always computed, so that compilers vectorize loops of these calls.
    const auto scaled = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * kScale);
    return std::bit_cast<float>((magnitude >= kSpecial ? magnitude | 0x7f800000u : scaled) | sign);
  }
}

inline float value_of_e4m3(std::uint32_t bits) {
  const std::uint32_t exponent = bits >> 3 & 0xf;
  const std::uint32_t fraction = bits & 7;
  const float sign = bits & 0x80 ? -1.0f : 1.0f;
  if (exponent == 0xf && fraction == 7) return std::bit_cast<float>(0x7fffffffu);
  if (exponent == 0) return sign * static_cast<float>(fraction) / 512;
  return sign * std::bit_cast<float>((exponent + 127 - 7) << 23 | fraction << 20);
}

/// Sum rounded to odd. Rounding it again, to a format with at least two bits less, gives the same
/// result as rounding the exact sum once.
inline double sum_to_odd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  const double from_b = sum - a;
  const double error = (a - (sum - from_b)) + (b - from_b);
  if (error == 0) return sum;
  auto bits = std::bit_cast<std::uint64_t>(sum);
  if ((bits & 1) == 0) bits += (error > 0) == (sum > 0) ? 1 : ~std::uint64_t{0};
  return std::bit_cast<double>(bits);
}

}  // namespace gpuexp::sim
