// Comparisons: their modifiers, and the combination of results with another predicate.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "sim/registers.hpp"

namespace gpuexp::sim {

enum class Combine : std::uint8_t { with_and, with_or, with_xor };

inline Combine combine_of(const Decoding& in) {
  return in.has("AND") ? Combine::with_and : in.has("OR") ? Combine::with_or : Combine::with_xor;
}

GPUEXP_INLINED LaneMask combined(Combine how, LaneMask a, LaneMask b) {
  switch (how) {
    case Combine::with_and: return a & b;
    case Combine::with_or: return a | b;
    case Combine::with_xor: return a ^ b;
  }
  return a;
}

/// Floating-point comparisons, by index. NUM is true if both operands are numbers; F is always
/// false.
inline constexpr std::array<std::string_view, 8> kFloatCompares{"LT", "EQ", "LE",  "GT",
                                                                "NE", "GE", "NUM", "F"};
inline constexpr std::uint8_t kUnordered = 8;  ///< the comparison is also true if an operand is NaN

/// Returns the comparison of a modifier such as "GE", "GEU" or "NAN"; empty for other modifiers.
inline std::optional<std::uint8_t> float_compare(std::string_view modifier) {
  if (modifier == "NAN") return kUnordered | 7;
  const bool is_unordered = modifier.size() == 3 && modifier.ends_with('U');
  if (is_unordered) modifier.remove_suffix(1);
  const auto found = std::find(kFloatCompares.begin(), kFloatCompares.end(), modifier);
  if (found == kFloatCompares.end()) return std::nullopt;
  return static_cast<std::uint8_t>((found - kFloatCompares.begin()) |
                                   (is_unordered ? kUnordered : 0));
}

template <class T>
GPUEXP_INLINED bool compare_floats(std::uint8_t how, T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return (how & kUnordered) != 0;
  switch (how & 7) {
    case 0: return a < b;
    case 1: return a == b;
    case 2: return a <= b;
    case 3: return a > b;
    case 4: return a != b;
    case 5: return a >= b;
    case 6: return true;
    default: return false;
  }
}

/// Writes the result to the first destination and its complement to the second, each combined with
/// the third source as Op::value selects.
GPUEXP_INLINED void write_comparison(Warp& warp, const Op& op, LaneMask lanes, LaneMask result) {
  const auto how = static_cast<Combine>(op.value);
  const LaneMask with = read_predicate(warp, op.from[2]);
  write_predicate(warp, op.to[0], lanes, combined(how, result, with));
  write_predicate(warp, op.to[1], lanes, combined(how, ~result, with));
}

}  // namespace gpuexp::sim
