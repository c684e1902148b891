// The expected value of one output element as a program for a stack machine, which host and device
// execute (own/check_evaluation.hpp). own/check_expression.hpp compiles it from a check expression.
// C++17, included by .cu files.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/types.hpp"

namespace gpuexp::own {

inline constexpr int kMaxInstructions = 184;
inline constexpr int kMaxBuffers = 12;
inline constexpr int kMaxRank = 4;    ///< dimensions of a buffer
inline constexpr int kMaxSums = 4;    ///< nested sums
inline constexpr int kMaxStack = 24;  ///< operands of unfinished operations
inline constexpr int kMaxKept = 6;    ///< values that are computed before a sum

/// A sum of at least kMinSplitTerms terms is the sum of kSumParts sums of successive terms, so that
/// the threads of a block can compute the parts. Sums within its terms are not split. The order of
/// summation does not depend on the number of threads.
inline constexpr int kSumParts = 256;
inline constexpr double kMinSplitTerms = 4 * kSumParts;

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
  too_many_terms,    ///< NaN, or at least 2^36
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
  /// Computes a value before the sum whose terms use it: up to `keep` of the same slot, which is
  /// `number`. If the computation has a fault, continues at `operand`, and `kept` has the fault.
  attempt,
  keep,           ///< pops the value of slot `operand`
  kept,           ///< pushes the value of slot `operand`
  sum_has_terms,  ///< without terms, replaces their number by 0 and continues at `operand`
  sum_begin,      ///< pops the number of terms, pushes 0; continues at `operand` without terms
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
  nearest,       ///< the nearest whole number; of two, the even one, as rint() of C
  nearest_away,  ///< the nearest whole number; of two, the one farther from 0, as round() of C
  single,        ///< the nearest number of type fp32
  whole_power,   ///< `operand` equal factors, multiplied from left to right
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
  /// Upper bound on the instructions that one element executes, and on those of them outside of
  /// split sums. A sum whose number of terms depends on a buffer counts as one term.
  double cost = 0;
  double unsplit_cost = 0;
};
static_assert(std::is_trivially_copyable_v<CheckProgram> && sizeof(CheckProgram) <= 3968,
              "a kernel has at most 4 KiB of parameters");

}  // namespace gpuexp::own
