// The state of a thread that executes a check's program. C++17, included by .cu files.
#pragma once

#include <cstdint>

#include "base/types.hpp"
#include "own/check_program.hpp"

namespace gpuexp::own::check_detail {

/// A value that was computed before a sum whose terms use it. Computing it once gives the same
/// result as computing it in each term, also if only some terms need it: its fault, and whether it
/// is exact, count if a term uses it.
struct Kept {
  Checked value;
  CheckFault fault;
  bool is_exact = true;
};

/// The state to which a computation of a kept value returns.
struct Attempt {
  int slot = 0;
  int end = 0;  // first instruction after the computation
  int top = 0;
  int sums = 0;
  bool was_exact = true;
};

/// The sum of which this thread computes one part after another.
struct SplitSum {
  int level = -1;    // State::sums before it; -1: no sum is being split
  int attempts = 0;  // State::attempts when it began
  int top = 0;       // State::top with only the sum above earlier operands
  int next = 0;      // position of its `sum_next`
  int part = 0;      // the part that is being computed
  double terms = 0;  // number of terms of the whole sum
  double part_terms = 0;
  Checked total;             // sum of the computed parts
  bool is_computed = false;  // this thread has computed all of its parts
};

struct State {
  Checked stack[kMaxStack];
  Kept kept[kMaxKept];
  Attempt attempt[kMaxSums];
  SplitSum split;
  double indices[kMaxRank + kMaxSums] = {};
  double terms[kMaxSums] =
      {};                // up to which term the sum continues: of a split sum, its part's end
  int top = 0;           // number of operands on the stack
  int sums = 0;          // number of sums that have begun
  int attempts = 0;      // number of attempts that have begun
  bool is_exact = true;  // all loaded elements are whole, and all sums exact
  bool is_interrupted = false;  // there is a fault, or all parts of a sum are computed
  CheckFault fault;

  GPUEXP_HOST_DEVICE void fail(CheckFaultKind kind, double number, std::int32_t dimension = 0) {
    if (fault.kind != CheckFaultKind::none) return;
    is_interrupted = true;
    fault.kind = kind;
    fault.number = number;
    fault.dimension = dimension;
  }
};

inline constexpr double kMaxExactInteger = 0x1p53;
inline constexpr double kMaxTerms = 0x1p36;

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
    case DataType::int8: return {8, true};
    case DataType::int16: return {16, true};
    case DataType::int64: return {64, true};
    case DataType::boolean: return {8, false};
    default: return {};
  }
}

}  // namespace gpuexp::own::check_detail
