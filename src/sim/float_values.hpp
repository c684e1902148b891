// Rounding, NaN and flushing of subnormal numbers in floating-point instructions.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

#include "sim/registers.hpp"
#include "sim/small_floats.hpp"

namespace gpuexp::sim {

// fp32 arithmetic returns kNan32 for every NaN (PTX ISA, "Floating Point Instructions"). fp64
// arithmetic returns kNan64 if the result is NaN but no operand is.
inline constexpr std::uint32_t kNan32 = 0x7fffffff;
inline constexpr std::uint64_t kNan64 = 0xfff8000000000000;
inline constexpr std::uint64_t kQuiet64 = 0x0008000000000000;

/// Flags in Op::kind.
inline constexpr std::uint8_t kFtz = 1;
inline constexpr std::uint8_t kSaturate = 2;

inline Rounding rounding_of(const Decoding& in) {
  return in.has("RM") || in.has("FLOOR")   ? Rounding::down
         : in.has("RP") || in.has("CEIL")  ? Rounding::up
         : in.has("RZ") || in.has("TRUNC") ? Rounding::zero
                                           : Rounding::nearest;
}

/// Sets the host's rounding mode until the scope ends.
class RoundingScope {
 public:
  explicit RoundingScope(Rounding rounding) : before_(std::fegetround()) {
    constexpr std::array kModes{FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    std::fesetround(kModes[static_cast<std::size_t>(rounding)]);
  }
  ~RoundingScope() { std::fesetround(before_); }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  int before_;
};

/// Places the operands. Sets Op::kind to the flags above and Op::kind2 to the rounding mode.
inline void place_float(const Decoding& in, Op& op, Reads reads) {
  place(in, op, reads);
  op.kind = static_cast<std::uint8_t>((in.has("FTZ") ? kFtz : 0) | (in.has("SAT") ? kSaturate : 0));
  op.kind2 = static_cast<std::uint8_t>(rounding_of(in));
}

GPUEXP_INLINED float flushed(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}

GPUEXP_INLINED std::uint32_t finished(float x, std::uint8_t kind) {
  if (kind & kFtz) x = flushed(x);
  if (kind & kSaturate) x = x > 0 ? std::min(x, 1.0f) : 0.0f;
  return std::isnan(x) ? kNan32 : std::bit_cast<std::uint32_t>(x);
}

}  // namespace gpuexp::sim
