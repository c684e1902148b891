// The expected value of one output element as a program for a stack machine, which host and device
// execute. own/check_expression.hpp compiles it from a check expression. C++17, included by .cu
// files.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "base/random_bits.hpp"
#include "base/stored_element.hpp"
#include "base/types.hpp"

namespace gpuexp::own {

inline constexpr int kMaxInstructions = 160;
inline constexpr int kMaxBuffers = 12;
inline constexpr int kMaxRank = 4;    ///< dimensions of a buffer
inline constexpr int kMaxSums = 4;    ///< nested sums
inline constexpr int kMaxStack = 24;  ///< operands of unfinished operations

/// The value that a check expects, in fp64, and its magnitude. The rounding error of a kernel that
/// computes the check with unit roundoff u is at most n × u × magnitude to first order in u, where
/// n is the number of roundings (ErrorTerms in own/check_expression.hpp).
struct Checked {
  double value = 0;
  double magnitude = 0;
};

/// Why an output element has no expected value.
enum class CheckFaultKind : std::int32_t {
  none,
  index_out_of_range,
  fractional_index,
  nan_condition,     ///< a condition of ?:, && or || is NaN
  too_many_terms,    ///< NaN, or at least 2^53
  inexact_element,   ///< a 64-bit integer of at least 2^53, for an output of integers
  inexact_integer,   ///< a result of at least 2^53, for an output of integers
  fractional_value,  ///< the expected value of an output of integers is not whole
  nan_value,         ///< the expected value is NaN, which no result equals
};

struct CheckFault {
  CheckFaultKind kind = CheckFaultKind::none;
  std::int32_t instruction = 0;  ///< the last executed one
  std::int32_t dimension = 0;    ///< position of the index
  double number = 0;             ///< the index, number of terms, element or result
};

enum class CheckOp : std::int32_t {
  number,        ///< pushes `number`
  index,         ///< pushes index `operand` + `number`
  load,          ///< pops the indices of buffer `operand`, pushes the element
  jump,          ///< continues at instruction `operand`
  jump_if_zero,  ///< pops; continues at instruction `operand` if the value is 0
  sum_begin,     ///< pops the number of terms, pushes 0; continues at `operand` without terms
  /// Pops a term and adds it to the sum; continues at `operand` if terms remain. `number` is the
  /// unit of the terms, or 0 (CheckRounding).
  sum_next,
  // The following operations pop one operand and push the result.
  negate,
  logical_not,
  truth,  ///< 1 if the operand is not 0
  absolute,
  exponential,
  logarithm,
  square_root,
  reciprocal_root,  ///< 1 / sqrt(a)
  sine,
  cosine,
  hyperbolic_tangent,
  error_function,
  floor,
  ceiling,
  truncation,
  whole_power,  ///< `operand` equal factors, multiplied from left to right
  // The following operations pop two operands and push the result.
  add,
  subtract,
  multiply,
  divide,
  remainder,  ///< has the sign of the first operand, as in C
  power,
  floor_divide,
  ceil_divide,
  minimum,
  maximum,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
};

struct CheckInstruction {
  CheckOp op = CheckOp::number;
  std::int32_t operand = 0;
  double number = 0;
};

/// A buffer in row-major order.
struct BufferView {
  const void* data = nullptr;
  DataType type = DataType::fp32;
  std::int32_t rank = 0;
  std::int64_t extents[kMaxRank] = {};
};

/// How the magnitude of an element shrinks if its check is computed without rounding errors. A sum
/// is exact if its terms are multiples of a power of two, the unit, and its magnitude is at most
/// `exact_limit` units: then the accumulating type represents each partial sum, in any order of
/// summation. The same holds for products by constants inside or outside of the sum.
struct CheckRounding {
  double exact_limit = 0;  ///< 2^24 for fp32, 2^53 for fp64; 0: magnitudes never shrink
  double unit = 0;       ///< unit of the whole check, if loaded elements are whole; 0: it has none
  double of_output = 0;  ///< share of the tolerance that covers the rounding of the output
  double output_limit = 0;  ///< the output's type represents this many units
};

/// A kernel takes it as `const __grid_constant__ CheckProgram`; otherwise each thread copies it to
/// local memory.
struct CheckProgram {
  CheckInstruction instructions[kMaxInstructions];
  BufferView buffers[kMaxBuffers];
  std::int64_t extents[kMaxRank] = {};  ///< the output's
  std::int32_t instruction_count = 0;
  std::int32_t buffer_count = 0;
  std::int32_t rank = 0;           ///< the output's; its indices precede those of sums
  DataType type = DataType::fp64;  ///< type of the output's elements
  CheckRounding rounding;
};
static_assert(std::is_trivially_copyable_v<CheckProgram> && sizeof(CheckProgram) <= 3584,
              "a kernel has at most 4 KiB of parameters");

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

struct State {
  Checked stack[kMaxStack];
  double indices[kMaxRank + kMaxSums] = {};
  double terms[kMaxSums] = {};
  int top = 0;           // number of operands on the stack
  int sums = 0;          // number of sums that have begun
  bool is_exact = true;  // all loaded elements are whole, and all sums exact
  CheckFault fault;

  GPUEXP_HOST_DEVICE void fail(CheckFaultKind kind, double number, std::int32_t dimension = 0) {
    if (fault.kind != CheckFaultKind::none) return;
    fault.kind = kind;
    fault.number = number;
    fault.dimension = dimension;
  }
};

inline constexpr double kMaxExactInteger = 0x1p53;

struct IntegerFormat {
  int bits = 0;  // 0 for floating-point types
  bool is_signed = false;
};
GPUEXP_HOST_DEVICE inline IntegerFormat integer_format(DataType type) {
  switch (type) {
    case DataType::int32: return {32, true};
    case DataType::uint8: return {8, false};
    case DataType::uint16: return {16, false};
    case DataType::uint32: return {32, false};
    case DataType::uint64: return {64, false};
    default: return {};
  }
}

/// The element in the memory of the processor that evaluates the check.
struct StoredElements {
  GPUEXP_HOST_DEVICE double operator()(const BufferView& buffer, std::int64_t element) const {
    return stored_element(buffer.data, buffer.type, element);
  }
};

template <class Elements>
GPUEXP_HOST_DEVICE inline void load(const CheckProgram& program, State& state,
                                    const BufferView& buffer, const Elements& elements) {
  state.top -= buffer.rank;
  std::int64_t element = 0;
  for (int d = 0; d < buffer.rank; ++d) {
    const double index = state.stack[state.top + d].value;
    if (!(index >= 0 && index < static_cast<double>(buffer.extents[d])))
      return state.fail(CheckFaultKind::index_out_of_range, index, d);
    if (index != std::floor(index)) return state.fail(CheckFaultKind::fractional_index, index, d);
    element = element * buffer.extents[d] + static_cast<std::int64_t>(index);
  }
  const double value = elements(buffer, element);
  const bool is_rounded = buffer.type == DataType::uint64 && value >= kMaxExactInteger;
  if (is_rounded && integer_format(program.type).bits > 0)
    state.fail(CheckFaultKind::inexact_element, value);
  if (value != std::floor(value)) state.is_exact = false;
  state.stack[state.top++] = {value, std::fabs(value)};
}

GPUEXP_HOST_DEVICE inline bool begin_sum(State& state, int rank) {
  const double terms = state.stack[state.top - 1].value;
  state.stack[state.top - 1] = {0, 0};
  if (!(terms < kMaxExactInteger)) state.fail(CheckFaultKind::too_many_terms, terms);
  if (!(terms > 0)) return false;
  state.terms[state.sums] = terms;
  state.indices[rank + state.sums] = 0;
  ++state.sums;
  return true;
}

// In the check of an output of integers, whole numbers below 2^53 must not be combined to one that
// fp64 rounds.
GPUEXP_HOST_DEVICE inline void require_exact(State& state, CheckOp op, double a, double b,
                                             double result) {
  const auto is_exact = [](double x) {
    return std::fabs(x) < kMaxExactInteger && x == std::floor(x);
  };
  const bool combines = op == CheckOp::add || op == CheckOp::subtract || op == CheckOp::multiply ||
                        op == CheckOp::whole_power || op == CheckOp::sum_next;
  if (combines && std::fabs(result) >= kMaxExactInteger && is_exact(a) && is_exact(b))
    state.fail(CheckFaultKind::inexact_integer, result);
}

GPUEXP_HOST_DEVICE inline bool next_term(const CheckProgram& program, State& state, double unit) {
  const Checked term = state.stack[--state.top];
  Checked& sum = state.stack[state.top - 1];
  const double before = sum.value;
  sum = {sum.value + term.value, sum.magnitude + term.magnitude};
  if (integer_format(program.type).bits > 0)
    require_exact(state, CheckOp::sum_next, before, term.value, sum.value);
  double& index = state.indices[program.rank + state.sums - 1];
  index += 1;
  if (index < state.terms[state.sums - 1]) return true;
  if (!(sum.magnitude <= program.rounding.exact_limit * unit)) state.is_exact = false;
  --state.sums;
  return false;
}

// Executes instruction `at`. Returns the next instruction.
template <class Elements>
GPUEXP_HOST_DEVICE inline int execute(const CheckProgram& program, State& state, int at,
                                      const Elements& elements) {
  const CheckInstruction& instruction = program.instructions[at];
  switch (instruction.op) {
    case CheckOp::number:
      state.stack[state.top++] = {instruction.number, std::fabs(instruction.number)};
      return at + 1;
    case CheckOp::index: {
      const double index = state.indices[instruction.operand] + instruction.number;
      state.stack[state.top++] = {index, std::fabs(index)};
      return at + 1;
    }
    case CheckOp::load:
      load(program, state, program.buffers[instruction.operand], elements);
      return at + 1;
    case CheckOp::jump: return instruction.operand;
    case CheckOp::jump_if_zero: {
      const double condition = state.stack[--state.top].value;
      if (std::isnan(condition)) state.fail(CheckFaultKind::nan_condition, condition);
      return condition == 0 ? instruction.operand : at + 1;
    }
    case CheckOp::sum_begin: return begin_sum(state, program.rank) ? at + 1 : instruction.operand;
    case CheckOp::sum_next:
      return next_term(program, state, instruction.number) ? instruction.operand : at + 1;
    default: break;
  }
  if (instruction.op >= CheckOp::add) --state.top;
  Checked& left = state.stack[state.top - 1];
  const Checked a = left;
  const Checked b = instruction.op < CheckOp::add ? Checked{} : state.stack[state.top];
  left = instruction.op < CheckOp::add ? unary(instruction, a) : binary(instruction.op, a, b);
  if (integer_format(program.type).bits > 0)
    require_exact(state, instruction.op, a.value, b.value, left.value);
  return at + 1;
}

// ---- the result as an element of the output

// Half a unit above the largest number: from here on, rounding to nearest gives infinity.
GPUEXP_HOST_DEVICE inline double overflow_threshold(DataType type) {
  switch (type) {
    case DataType::fp16: return 65520;
    case DataType::bf16: return 0x1.FFp127;
    case DataType::fp32:
    case DataType::tf32: return 0x1.FFFFFFp127;
    default: return static_cast<double>(INFINITY);
  }
}

// The whole number modulo 2^bits, as the type represents it.
GPUEXP_HOST_DEVICE inline double wrapped(double whole, IntegerFormat format) {
  const auto number = static_cast<std::uint64_t>(static_cast<std::int64_t>(whole));
  const int unused = 64 - format.bits;
  if (format.is_signed)
    return static_cast<double>(static_cast<std::int64_t>(number << unused) >> unused);
  return static_cast<double>(number << unused >> unused);
}

GPUEXP_HOST_DEVICE inline double as_integer(State& state, double value, IntegerFormat format) {
  if (!(std::fabs(value) < kMaxExactInteger))
    state.fail(CheckFaultKind::inexact_integer, value);
  else if (value != std::floor(value))
    state.fail(CheckFaultKind::fractional_value, value);
  if (state.fault.kind != CheckFaultKind::none) return 0;
  const double element = wrapped(value, format);
  if (!(element < kMaxExactInteger)) state.fail(CheckFaultKind::inexact_integer, element);
  return element;
}

// The rounding of the output, if it does not represent the value.
GPUEXP_HOST_DEVICE inline double exact_magnitude(const CheckRounding& rounding, double value) {
  const double magnitude = std::fabs(value);
  return magnitude <= rounding.output_limit * rounding.unit ? 0 : rounding.of_output * magnitude;
}

GPUEXP_HOST_DEVICE inline Checked as_output(const CheckProgram& program, State& state) {
  Checked result = state.stack[0];
  if (std::isnan(result.value)) state.fail(CheckFaultKind::nan_value, result.value);
  const IntegerFormat format = integer_format(program.type);
  if (format.bits > 0) return {as_integer(state, result.value, format), result.magnitude};
  // An infinite magnitude would let every result pass.
  if (std::fabs(result.value) >= overflow_threshold(program.type))
    return {std::copysign(static_cast<double>(INFINITY), result.value), 0};
  const CheckRounding& rounding = program.rounding;
  if (state.is_exact && rounding.unit > 0 &&
      result.magnitude <= rounding.exact_limit * rounding.unit)
    result.magnitude = exact_magnitude(rounding, result.value);
  return result;
}

}  // namespace check_detail

/// The expected value of the output element with this row-major index, as the output's type
/// represents it: numbers beyond its range become infinite, and integers wrap around. Both numbers
/// are NaN if there is a fault. `elements` returns an element of a BufferView. Host and device give
/// bitwise-identical values, except for functions that CheckOp does not define by arithmetic, such
/// as exp, log and pow.
template <class Elements>
GPUEXP_HOST_DEVICE inline Checked evaluate_with(const CheckProgram& program, std::int64_t element,
                                                const Elements& elements, CheckFault& fault) {
  check_detail::State state;
  for (int d = program.rank - 1; d >= 0; --d) {
    state.indices[d] = static_cast<double>(element % program.extents[d]);
    element /= program.extents[d];
  }
  int at = 0;
  while (at < program.instruction_count && state.fault.kind == CheckFaultKind::none) {
    state.fault.instruction = at;
    at = check_detail::execute(program, state, at, elements);
  }
  Checked result;
  if (state.fault.kind == CheckFaultKind::none) result = check_detail::as_output(program, state);
  fault = state.fault;
  if (fault.kind != CheckFaultKind::none)
    return {static_cast<double>(NAN), static_cast<double>(NAN)};
  return result;
}

/// The same from elements in memory.
GPUEXP_HOST_DEVICE inline Checked evaluate(const CheckProgram& program, std::int64_t element) {
  CheckFault fault;
  return evaluate_with(program, element, check_detail::StoredElements{}, fault);
}

}  // namespace gpuexp::own
