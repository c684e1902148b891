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

enum class CheckOp : std::int32_t {
  number,        ///< pushes `number`
  index,         ///< pushes index `operand` + `number`
  load,          ///< pops the indices of buffer `operand`, pushes the element
  jump,          ///< continues at instruction `operand`
  jump_if_zero,  ///< pops; continues at instruction `operand` if the value is 0
  sum_begin,     ///< pops the number of terms, pushes 0; continues at `operand` without terms
  sum_next,      ///< pops a term and adds it to the sum; continues at `operand` if terms remain
  // The following operations pop one operand and push the result.
  negate,
  logical_not,
  truth,  ///< 1 if the operand is not 0
  absolute,
  exponential,
  logarithm,
  square_root,
  floor,
  ceiling,
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

/// A kernel takes it as `const __grid_constant__ CheckProgram`; otherwise each thread copies it to
/// local memory.
struct CheckProgram {
  CheckInstruction instructions[kMaxInstructions];
  BufferView buffers[kMaxBuffers];
  std::int64_t extents[kMaxRank] = {};  ///< the output's
  std::int32_t instruction_count = 0;
  std::int32_t buffer_count = 0;
  std::int32_t rank = 0;  ///< the output's; its indices precede those of sums
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

GPUEXP_HOST_DEVICE inline Checked unary(const CheckInstruction& instruction, Checked a) {
  switch (instruction.op) {
    case CheckOp::negate: return {-a.value, a.magnitude};
    case CheckOp::logical_not: return truth(a.value == 0);
    case CheckOp::truth: return truth(a.value != 0);
    case CheckOp::absolute: return {std::fabs(a.value), a.magnitude};
    case CheckOp::floor: return {std::floor(a.value), a.magnitude};
    case CheckOp::ceiling: return {std::ceil(a.value), a.magnitude};
    case CheckOp::whole_power: return whole_power(a, instruction.operand);
    case CheckOp::square_root: {
      const double root = std::sqrt(a.value);
      return {root, square_root_magnitude(a, root)};
    }
    case CheckOp::exponential: {
      // An error e of a multiplies exp(a) by 1 + e.
      const double power = std::exp(a.value);
      return {power, power * (1 + a.magnitude)};
    }
    default: {
      // An error e of a adds e / a to log(a).
      const double log = std::log(a.value);
      return {log, std::fabs(log) + a.magnitude / std::fabs(a.value)};
    }
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
  int top = 0;   // number of operands on the stack
  int sums = 0;  // number of sums that have begun
  bool is_valid = true;
};

GPUEXP_HOST_DEVICE inline void load(State& state, const BufferView& buffer) {
  state.top -= buffer.rank;
  std::int64_t element = 0;
  for (int d = 0; d < buffer.rank; ++d) {
    const double index = state.stack[state.top + d].value;
    const bool is_valid =
        index >= 0 && index < static_cast<double>(buffer.extents[d]) && index == std::floor(index);
    if (!is_valid) {
      state.is_valid = false;
      return;
    }
    element = element * buffer.extents[d] + static_cast<std::int64_t>(index);
  }
  const double value = stored_element(buffer.data, buffer.type, element);
  state.stack[state.top++] = {value, std::fabs(value)};
}

// From 2^53 on, fp64 cannot count the terms.
GPUEXP_HOST_DEVICE inline bool begin_sum(State& state, int rank) {
  const double terms = state.stack[state.top - 1].value;
  state.stack[state.top - 1] = {0, 0};
  if (!(terms < 0x1p53)) state.is_valid = false;
  if (!(terms > 0)) return false;
  state.terms[state.sums] = terms;
  state.indices[rank + state.sums] = 0;
  ++state.sums;
  return true;
}

GPUEXP_HOST_DEVICE inline bool next_term(State& state, int rank) {
  const Checked term = state.stack[--state.top];
  Checked& sum = state.stack[state.top - 1];
  sum = {sum.value + term.value, sum.magnitude + term.magnitude};
  double& index = state.indices[rank + state.sums - 1];
  index += 1;
  if (index < state.terms[state.sums - 1]) return true;
  --state.sums;
  return false;
}

// Executes instruction `at`. Returns the next instruction.
GPUEXP_HOST_DEVICE inline int execute(const CheckProgram& program, State& state, int at) {
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
    case CheckOp::load: load(state, program.buffers[instruction.operand]); return at + 1;
    case CheckOp::jump: return instruction.operand;
    case CheckOp::jump_if_zero: {
      const double condition = state.stack[--state.top].value;
      if (std::isnan(condition)) state.is_valid = false;
      return condition == 0 ? instruction.operand : at + 1;
    }
    case CheckOp::sum_begin: return begin_sum(state, program.rank) ? at + 1 : instruction.operand;
    case CheckOp::sum_next: return next_term(state, program.rank) ? instruction.operand : at + 1;
    default: break;
  }
  if (instruction.op >= CheckOp::add) --state.top;
  Checked& left = state.stack[state.top - 1];
  left = instruction.op < CheckOp::add ? unary(instruction, left)
                                       : binary(instruction.op, left, state.stack[state.top]);
  return at + 1;
}

}  // namespace check_detail

/// The expected value of the output element with this row-major index. Both numbers are NaN if an
/// evaluated index is out of range or not whole, if an evaluated condition is NaN, or if a number
/// of terms is NaN or at least 2^53. Host and device give bitwise-identical values, except for exp,
/// log and pow.
GPUEXP_HOST_DEVICE inline Checked evaluate(const CheckProgram& program, std::int64_t element) {
  check_detail::State state;
  for (int d = program.rank - 1; d >= 0; --d) {
    state.indices[d] = static_cast<double>(element % program.extents[d]);
    element /= program.extents[d];
  }
  int at = 0;
  while (at < program.instruction_count && state.is_valid)
    at = check_detail::execute(program, state, at);
  if (!state.is_valid) return {static_cast<double>(NAN), static_cast<double>(NAN)};
  return state.stack[0];
}

}  // namespace gpuexp::own
