// An output against its reference, element by element: on the device that wrote it, or on the host.
// C++17, included by .cu files.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "family/element_draw.hpp"
#include "family/tolerance.hpp"

namespace gpuexp {

struct Mismatch;
struct Verification;

/// Arrays lie where the comparison is made.
struct Comparison {
  const void* got;
  DataType type;
  std::int64_t count;
  const double* value;  ///< exact result for the inputs as stored
  const double* magnitude;
  const double* accurate;  ///< exact result for unrounded inputs
  Tolerance tolerance;
  ElementDraw draw = {};  ///< the elements that have a reference
};

/// Sums over elements. They come out the same, bit by bit, whenever they are combined in the same
/// order.
struct ComparisonSums {
  unsigned long long checked = 0;
  unsigned long long wrong = 0;
  unsigned long long first_wrong = ~0ull;  ///< lowest wrong index; all bits set when none is wrong
  /// Bits of the largest error over allowed; doubles >= 0 order as integers.
  unsigned long long worst_ratio = 0;
  unsigned long long worst_error = 0;      ///< likewise, of the largest error against `accurate`
  unsigned long long largest_allowed = 0;  ///< likewise, of what an element may err by
  double error_squares = 0;
  double value_squares = 0;
  double inaccuracy_squares = 0;  ///< of errors against `accurate`
  double accurate_squares = 0;
};

/// Doubles that are not negative keep their order when their bits are compared as integers; NaN,
/// whose exponent is all ones, then counts above infinity and is never lost.
GPUEXP_HOST_DEVICE inline unsigned long long ordered_bits(double x) {
  const double magnitude = std::fabs(x);
  unsigned long long bits = 0;
  std::memcpy(&bits, &magnitude, sizeof bits);
  return bits;
}

GPUEXP_HOST_DEVICE inline ComparisonSums combined(const ComparisonSums& a,
                                                  const ComparisonSums& b) {
  const auto least = [](unsigned long long x, unsigned long long y) { return x < y ? x : y; };
  const auto most = [](unsigned long long x, unsigned long long y) { return x > y ? x : y; };
  ComparisonSums sum;
  sum.checked = a.checked + b.checked;
  sum.wrong = a.wrong + b.wrong;
  sum.first_wrong = least(a.first_wrong, b.first_wrong);
  sum.worst_ratio = most(a.worst_ratio, b.worst_ratio);
  sum.worst_error = most(a.worst_error, b.worst_error);
  sum.largest_allowed = most(a.largest_allowed, b.largest_allowed);
  sum.error_squares = a.error_squares + b.error_squares;
  sum.value_squares = a.value_squares + b.value_squares;
  sum.inaccuracy_squares = a.inaccuracy_squares + b.inaccuracy_squares;
  sum.accurate_squares = a.accurate_squares + b.accurate_squares;
  return sum;
}

/// Whether element i, which is `got`, is checked. A NaN is, also where it has no reference: it is
/// wrong whatever it should be, and what nobody has written is one.
GPUEXP_HOST_DEVICE inline bool is_checked(double got, const Comparison& c, std::int64_t i) {
  return c.draw.has(i) || got != got;
}

/// Of element i, which is `got`.
GPUEXP_HOST_DEVICE inline ComparisonSums compared(double got, const Comparison& c, std::int64_t i) {
  if (!is_checked(got, c, i)) return {};
  const double value = c.value[i];
  const double accurate = c.accurate[i];
  const double allowed = c.tolerance.absolute + c.tolerance.relative * c.magnitude[i];
  // Equality comes first so that equal infinities pass; every comparison with NaN is false and
  // fails.
  const double error = got == value ? 0.0 : std::fabs(got - value);
  const bool right = got == value || error <= allowed;
  const double inaccuracy = got == accurate ? 0.0 : std::fabs(got - accurate);
  ComparisonSums one;
  one.checked = 1;
  if (!right) {
    one.wrong = 1;
    one.first_wrong = static_cast<unsigned long long>(i);
  }
  one.worst_ratio = ordered_bits(got == value ? 0.0 : error / allowed);
  one.worst_error = ordered_bits(inaccuracy);
  one.error_squares = error * error;
  one.inaccuracy_squares = inaccuracy * inaccuracy;
  one.accurate_squares = accurate * accurate;
  // An infinite element that is right takes no part in what the others are held to.
  if (std::isfinite(value) && std::isfinite(allowed)) {
    one.value_squares = value * value;
    one.largest_allowed = ordered_bits(allowed);
  }
  return one;
}

/// Values of `count` elements of an array of the comparison, from the first on.
using ReadElements = std::function<std::vector<double>(const void* array, DataType type,
                                                       std::int64_t first, std::int64_t count)>;

/// Wrong elements from this one on, which is wrong, in order; at most kMostMismatches.
using FindMismatches = std::function<std::vector<Mismatch>(std::int64_t first)>;

/// By reading elements anew, from the first on, in parts; what lies further than a few parts behind
/// it is not looked for.
std::vector<Mismatch> mismatches(const std::string& buffer, const Comparison& comparison,
                                 std::int64_t first, const ReadElements& read);

/// Adds to `result` what the sums over elements of the buffer say of it.
void add_output(const std::string& buffer, const Comparison& comparison, const ComparisonSums& sums,
                const FindMismatches& find, Verification& result);

}  // namespace gpuexp
