// Rounding to a floating-point format in exact arithmetic. References use this rounding to verify
// conversion instructions.
#pragma once

#include <cmath>

#include "kernels/common/convert.cuh"

namespace gpuexp {

/// The three parameters that define a binary format (IEEE 754-2019, section 3.3).
struct FloatFormat {
  int significand_bits;  ///< including the leading 1, which normal numbers do not store
  int min_exponent;      ///< exponent of the smallest normal number
  int max_exponent;      ///< exponent of the largest finite number
};
inline constexpr FloatFormat kFp16{11, -14, 15};
inline constexpr FloatFormat kBf16{8, -126, 127};
inline constexpr FloatFormat kFp32{24, -126, 127};
inline constexpr FloatFormat kFp64{53, -1022, 1023};

/// Rounds `value` to nearest even, with gradual underflow, and to infinity beyond the largest
/// finite number.
__host__ __device__ inline double round_to(FloatFormat format, double value) {
  if (value == 0.0 || !(fabs(value) <= 0x1.fffffffffffffp1023)) return value;
  int exponent = 0;
  frexp(value, &exponent);  // |value| is in [2^(exponent-1), 2^exponent)
  const int leading = exponent - 1 > format.min_exponent ? exponent - 1 : format.min_exponent;
  const int last = leading - (format.significand_bits - 1);
  const double rounded = ldexp(rint(ldexp(value, -last)), last);
  const bool overflows = fabs(rounded) >= ldexp(1.0, format.max_exponent) * 2.0;
  return overflows ? copysign(HUGE_VAL, value) : rounded;
}

}  // namespace gpuexp
