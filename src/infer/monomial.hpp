// Extents as products: a constant fraction times factors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpuexp::infer {

/// factors[0] * factors[1] * … * multiplier / divisor; of 4*h*w/6, the multiplier is 2 and the
/// divisor 3.
struct Monomial {
  std::vector<std::string> factors;  ///< in alphabetical order: parameters and other expressions
  std::int64_t multiplier = 1;
  std::int64_t divisor = 1;

  friend bool operator==(const Monomial&, const Monomial&) = default;
};

/// The expression as a product. Throws own::ExpressionError if the text is no expression.
Monomial monomial_of(const std::string& text);
/// The product of the expressions.
Monomial monomial_of(const std::vector<std::string>& texts);

}  // namespace gpuexp::infer
