// Operations of checks on values with magnitudes. C++17, included by .cu files.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/types.hpp"
#include "own/check_program.hpp"

namespace gpuexp::own {

namespace check_detail {

// In the comments below, a has the error A·u·ma, where ma is its magnitude and A its number of
// roundings, and b has the error B·u·mb. u is the unit roundoff, and |a| <= ma.

// The error of √a is A·u·ma/(2√a), and its rounding adds u·√a. If a nearly cancels, the first term
// grows beyond √(A·u·ma), which also bounds the error. With u = 2^-24, this is at most
// A·u·√ma·2^12.
GPUEXP_HOST_DEVICE inline double square_root_magnitude(Checked a, double root) {
  const double limit = std::sqrt(a.magnitude) * 0x1p12;
  const double slope = a.magnitude / (2 * root);
  return std::fmax(root, slope < limit ? slope : limit);
}

// The error of p = a^b is, to first order, |∂p/∂a|·A·u·ma + |∂p/∂b|·B·u·mb
//   = |p|·(|b|·A·u·ma/|a| + |ln |a||·B·u·mb), and its rounding adds u·|p|.
// If a is 0, p has no such expansion; an error of ma in a changes p by ma^b if b is at least 1.
GPUEXP_HOST_DEVICE inline double power_magnitude(Checked a, Checked b, double power) {
  if (a.value == 0) return std::fmax(std::fabs(power), std::pow(a.magnitude, b.value));
  const double base = std::fabs(a.value);
  return std::fabs(power) *
         (1 + std::fabs(b.value) * a.magnitude / base + std::fabs(std::log(base)) * b.magnitude);
}

// The error of a / b is at most A·u·ma/|b| + |a|·B·u·mb/b² <= (A + B)·u·ma·mb/b², because
// |b| <= mb. Without cancellation in b, it is ma/|b|.
GPUEXP_HOST_DEVICE inline double quotient_magnitude(Checked a, Checked b) {
  const double divisor = std::fabs(b.value);
  return (a.magnitude / divisor) * (b.magnitude / divisor);
}

GPUEXP_HOST_DEVICE inline Checked whole_power(Checked a, std::int32_t factors) {
  Checked power = a;
  for (std::int32_t i = 1; i < factors; ++i)
    power = {power.value * a.value, power.magnitude * a.magnitude};
  return power;
}

GPUEXP_HOST_DEVICE inline Checked truth(bool is_true) {
  return is_true ? Checked{1, 1} : Checked{0, 0};
}

// An error e of a changes f(a) by f'(a)·e, and the rounding of f adds u·|f|.
GPUEXP_HOST_DEVICE inline Checked with_slope(Checked a, double value, double slope) {
  return {value, std::fabs(value) + std::fabs(slope) * a.magnitude};
}

GPUEXP_HOST_DEVICE inline Checked smooth(CheckOp op, Checked a) {
  constexpr double kTwoOverRootPi = 1.1283791670955126;
  switch (op) {
    case CheckOp::sine: return with_slope(a, std::sin(a.value), std::cos(a.value));
    case CheckOp::cosine: return with_slope(a, std::cos(a.value), std::sin(a.value));
    case CheckOp::hyperbolic_tangent: {
      const double tangent = std::tanh(a.value);
      return with_slope(a, tangent, 1 - tangent * tangent);
    }
    case CheckOp::error_function:
      return with_slope(a, std::erf(a.value), kTwoOverRootPi * std::exp(-a.value * a.value));
    case CheckOp::reciprocal_root: {
      const double root = 1 / std::sqrt(a.value);
      return with_slope(a, root, root / (2 * a.value));
    }
    case CheckOp::exponential: {
      const double power = std::exp(a.value);
      return with_slope(a, power, power);
    }
    default: return with_slope(a, std::log(a.value), 1 / a.value);
  }
}

GPUEXP_HOST_DEVICE inline Checked unary(const CheckInstruction& instruction, Checked a) {
  switch (instruction.op) {
    case CheckOp::negate: return {-a.value, a.magnitude};
    case CheckOp::logical_not: return truth(a.value == 0);
    case CheckOp::truth: return truth(a.value != 0);
    case CheckOp::absolute: return {std::fabs(a.value), a.magnitude};
    case CheckOp::floor: return {std::floor(a.value), a.magnitude};
    case CheckOp::truncation: return {std::trunc(a.value), a.magnitude};
    case CheckOp::ceiling: return {std::ceil(a.value), a.magnitude};
    case CheckOp::nearest: return {std::rint(a.value), a.magnitude};
    case CheckOp::nearest_away: return {std::round(a.value), a.magnitude};
    case CheckOp::single: return {static_cast<double>(static_cast<float>(a.value)), a.magnitude};
    case CheckOp::whole_power: return whole_power(a, instruction.operand);
    case CheckOp::square_root: {
      const double root = std::sqrt(a.value);
      return {root, square_root_magnitude(a, root)};
    }
    default: return smooth(instruction.op, a);
  }
}

GPUEXP_HOST_DEVICE inline bool compared(CheckOp op, double a, double b) {
  switch (op) {
    case CheckOp::less: return a < b;
    case CheckOp::less_equal: return a <= b;
    case CheckOp::greater: return a > b;
    case CheckOp::greater_equal: return a >= b;
    case CheckOp::equal: return a == b;
    default: return a != b;
  }
}

GPUEXP_HOST_DEVICE inline Checked binary(CheckOp op, Checked a, Checked b) {
  const double larger = std::fmax(a.magnitude, b.magnitude);
  switch (op) {
    case CheckOp::add: return {a.value + b.value, a.magnitude + b.magnitude};
    case CheckOp::subtract: return {a.value - b.value, a.magnitude + b.magnitude};
    case CheckOp::multiply: return {a.value * b.value, a.magnitude * b.magnitude};
    case CheckOp::divide: return {a.value / b.value, quotient_magnitude(a, b)};
    case CheckOp::floor_divide: return {std::floor(a.value / b.value), quotient_magnitude(a, b)};
    case CheckOp::ceil_divide: return {std::ceil(a.value / b.value), quotient_magnitude(a, b)};
    case CheckOp::remainder: {
      const double wholes = std::fabs(std::trunc(a.value / b.value));
      return {std::fmod(a.value, b.value), a.magnitude + wholes * b.magnitude};
    }
    case CheckOp::power: {
      const double power = std::pow(a.value, b.value);
      return {power, power_magnitude(a, b, power)};
    }
    // NaN is the minimum and maximum of NaN and any number, other than with fmin() and fmax().
    case CheckOp::minimum:
      return {a.value <= b.value || std::isnan(a.value) ? a.value : b.value, larger};
    case CheckOp::maximum:
      return {a.value >= b.value || std::isnan(a.value) ? a.value : b.value, larger};
    default: return truth(compared(op, a.value, b.value));
  }
}

}  // namespace check_detail

}  // namespace gpuexp::own
