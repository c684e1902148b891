// Checks of a matrix of random numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random_bits.hpp"
#include "own/check_evaluation.hpp"
#include "own/check_expression.hpp"

namespace gpuexp::own {

inline constexpr std::int64_t kRows = 4;
inline constexpr std::int64_t kColumns = 1500;

/// Numbers in [-1, 1), with an integer output y[kRows][kColumns] if `type` is one.
struct Matrix {
  std::vector<double> x;
  CheckBuffers buffers;
  Names names{{"C", kColumns}, {"R", kRows}};

  explicit Matrix(DataType type = DataType::fp32) {
    for (std::int64_t i = 0; i < kRows * kColumns; ++i)
      x.push_back(
          static_cast<double>(random_bits(3, static_cast<std::uint64_t>(i)) >> 11) * 0x1p-52 - 1);
    buffers.inputs["x"] = {x.data(), DataType::fp64, {kRows, kColumns}};
    buffers.output_extents = {kRows, kColumns};
    buffers.output_type = type;
  }
  CompiledCheck compiled(const std::string& expression) const {
    static std::vector<Check> kept;  // the program's nodes are those of the check
    kept.push_back(Check::parse("y[i][j] = " + expression));
    CompiledCheck compiled = kept.back().compiled(names, buffers);
    compiled.program.rounding.exact_limit = 0x1p24;
    return compiled;
  }
};

inline bool has_op(const CheckProgram& program, CheckOp op) {
  for (int i = 0; i < program.instruction_count; ++i) {
    if (program.instructions[i].op == op) return true;
  }
  return false;
}

inline constexpr const char* kMean = "sum(k < C: x[i][k])/C";
inline constexpr const char* kNormalized =
    "(x[i][j] - sum(k < C: x[i][k])/C) / "
    "sqrt(sum(k < C: (x[i][k] - sum(l < C: x[i][l])/C)^2)/C + 0.001)";

}  // namespace gpuexp::own
