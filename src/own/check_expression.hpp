// Checks: the expected value of each output element, as declared for a user's kernel, for example
//   C[i][j] = alpha*sum(k < K: A[i][k]*B[k][j]) + beta*before(C[i][j])
// All arithmetic is in fp64. `?:`, `&&` and `||` evaluate only the operands that they need, so that
// `i > 0 ? a[i-1] : 0` reads no element out of range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.hpp"
#include "own/check_program.hpp"
#include "own/expression.hpp"
#include "own/shared_sums.hpp"

namespace gpuexp::own {

/// A buffer in row-major order, in the memory of the processor that evaluates the check.
struct CheckBuffer {
  const void* data = nullptr;
  DataType type = DataType::fp32;
  std::vector<std::int64_t> extents;
};

/// What a check reads and writes.
struct CheckBuffers {
  std::map<std::string, CheckBuffer, std::less<>> inputs;
  std::vector<std::int64_t> output_extents;
  std::map<std::string, CheckBuffer, std::less<>> before;  ///< in_out buffers before the launch
  DataType output_type = DataType::fp64;
};

/// A program and the parts of the check that its instructions compute.
struct CompiledCheck {
  CheckProgram program;
  std::vector<const Node*> nodes;  ///< by instruction; as long as the check exists
  /// Upper bound on the terms that all sums add for one element, counted as in CheckProgram::cost.
  double terms = 0;
  /// Sums that several elements of the output share, in no order.
  std::vector<SharedSum> shared_sums;
  /// Instructions that one element executes on average if SumValues keeps the shared sums.
  SharedCost shared_cost;
};

/// Numbers of roundings, for a tolerance of (summed + operations) × unit roundoff ×
/// Checked::magnitude.
struct ErrorTerms {
  /// Maximum number of terms of a sum. Nested sums multiply, and add if the inner sum does not use
  /// the index of the outer one. The factors of a product add.
  double summed = 0;
  /// Roundings on the path with the most roundings, where each sum counts one of its terms. A
  /// literal, parameter or index counts 1, an arithmetic operation or sqrt 1, and exp, log, pow,
  /// rsqrt, sin, cos, tanh or erf 8: the errors of CUDA's fp32 versions are at most 4 units in the
  /// last place.
  double operations = 0;
  /// The number of terms of a sum has no known bound: usually, because it depends on the contents
  /// of a buffer. `summed` counts this sum as one term, so the tolerance must be declared.
  bool depends_on_data = false;
};

/// An immutable check. Errors are ExpressionErrors with columns in the parsed text.
class Check {
 public:
  static Check parse(std::string_view text);

  const std::string& text() const { return text_; }
  const std::string& output() const { return output_; }
  /// One name per dimension of the output.
  const std::vector<std::string>& indices() const { return indices_; }
  const Expression& expression() const { return expression_; }
  /// Parameters and buffers of the expression; the output if before() reads it.
  std::set<std::string> names() const;

  /// Compiles the check for these parameters and buffers. The program refers to the buffers' data.
  CompiledCheck compiled(const Names& parameters, const CheckBuffers& buffers) const;
  CheckProgram program(const Names& parameters, const CheckBuffers& buffers) const {
    return compiled(parameters, buffers).program;
  }

  /// Numbers of terms are bounded by interval arithmetic over the ranges of the indices.
  ErrorTerms terms(const Names& parameters, const std::vector<std::int64_t>& output_extents) const;

 private:
  Check(std::string_view text, std::string output, std::vector<std::string> indices,
        Expression expression)
      : text_(text),
        output_(std::move(output)),
        indices_(std::move(indices)),
        expression_(std::move(expression)) {}

  std::string text_;
  std::string output_;
  std::vector<std::string> indices_;
  Expression expression_;
};

}  // namespace gpuexp::own
