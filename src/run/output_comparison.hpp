// Element-wise comparison of an output with its reference, on the device or on the host. C++17,
// because .cu files include this header.
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

/// The arrays are in the memory of the processor that compares them: GPU or host.
struct Comparison {
  const void* got;
  DataType type;
  std::int64_t count;
  const double* value;  ///< exact result for the inputs as stored
  const double* magnitude;
  const double* accurate;  ///< exact result for unrounded inputs
  Tolerance tolerance;
  ElementDraw draw = {};  ///< the elements that have a reference
  /// Whether all bits of an element are set until the launch writes it.
  bool is_poisoned = false;
};

/// An element of which all bits are set. In floating-point types, it is NaN, but none that an
/// operation returns.
double poisoned_element(DataType type);

/// A wrong element. Floating-point elements with all bits set were not written.
Mismatch mismatch_of(const std::string& buffer, const Comparison& comparison, std::int64_t index,
                     double expected, double got, double allowed);

/// Sums over elements. Combining sums in the same order gives bitwise-identical results.
struct ComparisonSums {
  unsigned long long checked = 0;
  unsigned long long wrong = 0;
  unsigned long long zero_passes = 0;      ///< elements for which 0 would pass
  unsigned long long first_wrong = ~0ull;  ///< lowest wrong index; all bits set if none
  /// Lowest index of a drawn element whose expected value is NaN; all bits set if none.
  unsigned long long first_without_value = ~0ull;
  /// Bits of the maximum of error / allowed error.
  unsigned long long worst_ratio = 0;
  unsigned long long worst_error = 0;      ///< bits of the largest |got - accurate|
  unsigned long long largest_allowed = 0;  ///< bits of the largest allowed error
  double error_squares = 0;
  double value_squares = 0;
  double inaccuracy_squares = 0;  ///< sum of (got - accurate)^2
  double accurate_squares = 0;
};

/// Bits of |x| as an integer, which orders like |x|. NaN is greater than infinity, so a maximum
/// keeps it.
GPUEXP_HOST_DEVICE inline unsigned long long ordered_bits(double x) {
  const double magnitude = std::fabs(x);
  unsigned long long bits = 0;
  std::memcpy(&bits, &magnitude, sizeof bits);
  return bits;
}

GPUEXP_HOST_DEVICE inline ComparisonSums combined(const ComparisonSums& a,
                                                  const ComparisonSums& b) {
  const auto lower = [](unsigned long long x, unsigned long long y) { return x < y ? x : y; };
  const auto higher = [](unsigned long long x, unsigned long long y) { return x > y ? x : y; };
  ComparisonSums sum;
  sum.checked = a.checked + b.checked;
  sum.wrong = a.wrong + b.wrong;
  sum.zero_passes = a.zero_passes + b.zero_passes;
  sum.first_wrong = lower(a.first_wrong, b.first_wrong);
  sum.first_without_value = lower(a.first_without_value, b.first_without_value);
  sum.worst_ratio = higher(a.worst_ratio, b.worst_ratio);
  sum.worst_error = higher(a.worst_error, b.worst_error);
  sum.largest_allowed = higher(a.largest_allowed, b.largest_allowed);
  sum.error_squares = a.error_squares + b.error_squares;
  sum.value_squares = a.value_squares + b.value_squares;
  sum.inaccuracy_squares = a.inaccuracy_squares + b.inaccuracy_squares;
  sum.accurate_squares = a.accurate_squares + b.accurate_squares;
  return sum;
}

/// True if element i, with value `got`, is checked: if it was drawn or is NaN. NaN marks an
/// unwritten element and is always wrong.
GPUEXP_HOST_DEVICE inline bool is_checked(double got, const Comparison& c, std::int64_t i) {
  return c.draw.has(i) || got != got;
}

/// Sums that contain only element i, with value `got`.
GPUEXP_HOST_DEVICE inline ComparisonSums compared(double got, const Comparison& c, std::int64_t i) {
  if (!is_checked(got, c, i)) return {};
  const double value = c.value[i];
  const double accurate = c.accurate[i];
  const double allowed = c.tolerance.absolute + c.tolerance.relative * c.magnitude[i];
  // Tests equality first, so that equal infinities pass. NaN fails, because comparisons with NaN
  // are false.
  const double error = got == value ? 0.0 : std::fabs(got - value);
  const bool right = got == value || error <= allowed;
  const double inaccuracy = got == accurate ? 0.0 : std::fabs(got - accurate);
  ComparisonSums one;
  one.checked = 1;
  if (!right) {
    one.wrong = 1;
    one.first_wrong = static_cast<unsigned long long>(i);
    if (value != value && c.draw.has(i)) one.first_without_value = one.first_wrong;
  }
  one.zero_passes = std::fabs(value) <= allowed ? 1 : 0;
  one.worst_ratio = ordered_bits(got == value ? 0.0 : error / allowed);
  one.worst_error = ordered_bits(inaccuracy);
  one.error_squares = error * error;
  one.inaccuracy_squares = inaccuracy * inaccuracy;
  one.accurate_squares = accurate * accurate;
  // An infinite element has no finite square or tolerance.
  if (std::isfinite(value) && std::isfinite(allowed)) {
    one.value_squares = value * value;
    one.largest_allowed = ordered_bits(allowed);
  }
  return one;
}

/// Reads `count` elements of one of the comparison's arrays, starting at element `first`.
using ReadElements = std::function<std::vector<double>(const void* array, DataType type,
                                                       std::int64_t first, std::int64_t count)>;

/// Returns wrong elements in order, at most kMaxMismatches, starting with element `first`, which
/// is wrong.
using FindMismatches = std::function<std::vector<Mismatch>(std::int64_t first)>;

/// Reads the arrays again, starting at element `first`, 2^20 elements at a time, and returns the
/// wrong elements: at most kMaxMismatches of them, from at most 64 reads.
std::vector<Mismatch> mismatches(const std::string& buffer, const Comparison& comparison,
                                 std::int64_t first, const ReadElements& read);

/// Adds an output to the result, with the elements that `find` returns for the first wrong one, and
/// the first element without an expected value.
void add_output(const std::string& buffer, const Comparison& comparison, const ComparisonSums& sums,
                const FindMismatches& find, Verification& result);

}  // namespace gpuexp
