#pragma once

#include <cstdint>
#include <optional>

namespace gpuexp {

/// The power of an integer, with an exponent of at least 0; empty if it is out of the range of
/// 64-bit integers.
inline std::optional<std::int64_t> checked_power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  // The exponent is halved and the base squared, so that a large exponent takes few steps.
  for (bool overflows = false; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1 && (overflows || __builtin_mul_overflow(result, base, &result)))
      return std::nullopt;
    // The overflow of a square matters only if a later step multiplies by it.
    overflows = __builtin_mul_overflow(base, base, &base) || overflows;
  }
  return result;
}

}  // namespace gpuexp
