#include "own/check_tolerance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace gpuexp::own {

namespace {

constexpr double kHigherOrders = 1.01;

double summed_roundings(double terms) {
  constexpr double kLambda = 9.9;
  return std::min(terms, kLambda * std::sqrt(terms));
}

ErrorTerms terms_of(const Bound& bound, std::size_t output, const OwnProblem& problem) {
  const DeclaredCheck& check = *bound.check_of(output);
  const ErrorTerms terms = at_place(bound.file, check.place, [&] {
    return check.check.terms(problem.names, problem.extents[output]);
  });
  if (terms.depends_on_data)
    fail(
        bound.file, check.place,
        "the number of terms of a sum depends on a buffer, so no tolerance can be derived; declare "
        "one, such as 'tolerance 1e-5'");
  return terms;
}

}  // namespace

DataType computing_type(DataType output) {
  // 16-bit kernels usually compute in fp32.
  return output == DataType::fp64 ? DataType::fp64 : DataType::fp32;
}

Tolerance tolerance_of(const Bound& bound, std::size_t output, const OwnProblem& problem) {
  constexpr double kSmallestNormal = 0x1p-126;
  const DataType type = bound.buffers[output].type;
  Tolerance tolerance;
  // An output passes if all its elements do: no model of the mean rounding error is known.
  tolerance.rms_absolute = std::numeric_limits<double>::infinity();
  tolerance.absolute = half_smallest(type);
  if (bound.tolerance) {
    tolerance.relative = *bound.tolerance;
    return tolerance;
  }
  if (is_integer(type)) return tolerance;
  const ErrorTerms terms = terms_of(bound, output, problem);
  const DataType computing = computing_type(type);
  const double lost = bound.flushes_subnormals && computing == DataType::fp32
                          ? kSmallestNormal
                          : half_smallest(computing);
  tolerance.absolute += (terms.summed + terms.operations) * lost;
  tolerance.relative = (summed_roundings(terms.summed) + terms.operations) * kHigherOrders *
                           unit_roundoff(computing) +
                       unit_roundoff(type);
  return tolerance;
}

std::string tolerance_derivation(const Bound& bound) {
  if (bound.tolerance)
    return fmt::format(
        "The file declares a tolerance of {}, relative to the magnitude of the "
        "expected value. Half the smallest number of the output's type is added.",
        *bound.tolerance);
  return "The kernel computes in fp64 if the output is fp64, otherwise in fp32, with the unit "
         "roundoff u. A check with sums of n terms and k other operations changes by at most "
         "(n + k)·u·magnitude, to first order, if each operation is rounded (Higham, Accuracy and "
         "Stability of Numerical Algorithms, 2nd ed., section 3.1). For long sums, n is replaced "
         "by 9.9·√n, which independent roundings with mean zero exceed with a probability below "
         "e^-32 (Higham and Mary, SIAM J. Sci. Comput. 41(5), 2019, theorem 3.1). 1 % more covers "
         "higher orders. Rounding the output adds the unit roundoff of its type. Sums, "
         "differences and products of whole numbers and of powers of two are exact up to a "
         "magnitude of 1/u: for elements of such a check with sums, only the output's rounding "
         "remains, relative to the value. Each rounding to a subnormal number adds at most half "
         "the smallest number of its "
         "type; with --use_fast_math, which flushes subnormal numbers to zero, 2^-126. Integer "
         "outputs must be exact.";
}

void set_rounding(const Bound& bound, std::size_t output, const OwnProblem& problem,
                  CheckRounding& rounding) {
  const DataType type = bound.buffers[output].type;
  if (bound.tolerance || is_integer(type)) return;
  if (terms_of(bound, output, problem).summed == 0) return;
  const double relative = tolerance_of(bound, output, problem).relative;
  rounding.exact_limit = 1 / unit_roundoff(computing_type(type));
  rounding.of_output = unit_roundoff(type) / relative;
  rounding.output_limit = static_cast<double>(whole_numbers(type).high);
}

}  // namespace gpuexp::own
