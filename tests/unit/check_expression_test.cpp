// Checks: error messages and limits.
#include "own/check_expression.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "own/check_evaluation.hpp"
#include "support/catch.hpp"

namespace gpuexp::own {
namespace {

const std::vector<double> kOnes(16, 1.0);

CheckBuffer ones(std::vector<std::int64_t> extents) {
  return {kOnes.data(), DataType::fp64, std::move(extents)};
}

CheckBuffers two_matrices() {
  CheckBuffers buffers;
  buffers.inputs = {{"A", ones({4, 4})}, {"B", ones({4, 4})}};
  buffers.output_extents = {4, 4};
  return buffers;
}

const Names kParameters{{"alpha", 0.5}, {"n", std::int64_t{4}}, {"type", std::string("f")}};

template <class Action>
void check_error(Action action, std::string_view message, std::size_t column) {
  try {
    action();
    FAIL_CHECK("no error");
  } catch (const ExpressionError& error) {
    CHECK(error.what() == std::string(message));
    CHECK(error.column() == column);
  }
}
void check_parse_error(std::string_view text, std::string_view message, std::size_t column) {
  CAPTURE(text);
  check_error([&] { Check::parse(text); }, message, column);
}
void check_program_error(std::string_view text, std::string_view message, std::size_t column,
                         const CheckBuffers& buffers = two_matrices()) {
  CAPTURE(text);
  check_error([&] { Check::parse(text).program(kParameters, buffers); }, message, column);
}

std::string repeated(std::string_view part, int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += part;
  return text;
}

TEST_CASE("syntax errors of checks say what is expected", "[check]") {
  const std::string example = " of a check such as C[i][j] = A[i][j] + 1, found ";
  check_parse_error("", "expected the output" + example + "the end", 0);
  check_parse_error(" 3[i] = 1", "expected the output" + example + "'3[i] = 1'", 1);
  check_parse_error("C = 1", "expected the indices '[i]'" + example + "'= 1'", 2);
  check_parse_error("C[0] = 1", "expected the name of an index" + example + "'0] = 1'", 2);
  check_parse_error("C[i+1] = 1", "expected ']' after the name of an index" + example + "'+1] = 1'",
                    3);
  check_parse_error("C[i]", "expected '=' after the output" + example + "the end", 4);
  check_parse_error("C[i][i] = 1", "the index 'i' appears twice; rename one of them", 5);
  check_parse_error("C[i] = ", "expected a number, a name, a function call or '(', found the end",
                    7);
  check_parse_error("C[i] == 1", "expected a number, a name, a function call or '(', found '='", 6);
  check_parse_error("C[i] = 1 2", "found '2' after '1'; expected an operator or the end", 9);
  check_parse_error("C[i] = 1 + 2 ; ",
                    "found ';' after '1 + 2'; remove it, because no ';' ends a statement", 13);
  check_parse_error("C[i] = 1; 2", "found ';' after '1'; expected an operator or the end", 8);
}

TEST_CASE("a check reads the output only as it was before the launch", "[check]") {
  check_program_error("C[i][j] = before(C[i][j])",
                      "before(C[...]) needs the value of 'C' before the launch; declare the buffer "
                      "as in_out",
                      10);
  check_program_error("C[i][j] = before(A[i][j])",
                      "'A' is an input, which launches do not change: write A[...] instead of "
                      "before(A[...])",
                      10);
}

TEST_CASE("structural errors of checks", "[check]") {
  check_parse_error(
      "C[i] = log2(8)",
      "a check cannot compute log2(); did you mean 'log'? allowed: abs, ceil, ceil_div, cos, "
      "erf, exp, floor, floor_div, fp32, log, max, min, pow, rint, round, rsqrt, sin, sqrt, tanh, "
      "trunc",
      7);
  check_parse_error("C[i] = sum(i < 3: 1)",
                    "the index 'i' of the sum is already an index; rename it", 7);
  check_parse_error("C[i] = sum(a < 2: sum(a < 2: 1))",
                    "the index 'a' of the sum is already an index; rename it", 18);
  check_parse_error("C[i] = sum(a < 2: sum(b < 2: sum(c < 2: sum(d < 2: sum(e < 2: 1)))))",
                    "sums are nested more than 4 levels deep", 51);
  CHECK_NOTHROW(Check::parse("C[i] = sum(a < 2: 1) + sum(a < 2: 1) + sum(a < 2: 1)"));
}

TEST_CASE("functions of C and CUDA suggest those of checks", "[check]") {
  const auto check_guess = [](const std::string& function, const std::string& guess) {
    check_parse_error("C[i] = " + function + "(1, 2)",
                      "unknown function '" + function + "'" + guess +
                          (guess.starts_with("; write")
                               ? ""
                               : " allowed: abs, before, ceil, ceil_div, cos, erf, exp, floor, "
                                 "floor_div, fp32, log, log2, max, min, pow, rint, round, "
                                 "rsqrt, sin, sqrt, sum, "
                                 "tanh, trunc"),
                      7);
  };
  for (const auto& [function, name] :
       std::vector<std::pair<std::string, std::string>>{{"fmaxf", "max"},
                                                        {"fmax", "max"},
                                                        {"fminf", "min"},
                                                        {"fabsf", "abs"},
                                                        {"fabs", "abs"},
                                                        {"sqrtf", "sqrt"},
                                                        {"rsqrtf", "rsqrt"},
                                                        {"expf", "exp"},
                                                        {"__expf", "exp"},
                                                        {"logf", "log"},
                                                        {"__logf", "log"},
                                                        {"powf", "pow"},
                                                        {"__sinf", "sin"},
                                                        {"tanhf", "tanh"},
                                                        {"erff", "erf"},
                                                        {"floorf", "floor"},
                                                        {"rintf", "rint"},
                                                        {"roundf", "round"},
                                                        {"truncf", "trunc"}})
    check_guess(function, "; did you mean '" + name + "'?");
  check_guess("fmaf", "; write a*b + c");
  check_guess("fmodf", "; write a % b");
  check_guess("exp2f", "; write 2^a");
  check_guess("__fdividef", "; write a / b");
  check_guess("nearbyintf", "; write rint(a)");
  check_guess("__float2int_rn", "; write rint(a)");
  check_guess("lroundf", "; write round(a)");
  check_guess("float", "; write fp32(a)");
  check_guess("foo", ";");
}

TEST_CASE("unknown names of checks suggest the nearest name", "[check]") {
  check_program_error("C[i][j] = alpa*A[i][j]",
                      "unknown name 'alpa'; did you mean 'alpha'? allowed: i, j, alpha, n, type",
                      10);
  check_program_error("C[i][j] = a[i][j]", "unknown buffer 'a'; did you mean 'A'? allowed: A, B",
                      10);
  check_program_error("C[i][j] = A[i][n][j] + n[0]", "'A' has 2 dimensions, found 3 indices", 10);
  check_program_error("C[i][j] = sum(k < 2: A[kk][0])",
                      "unknown name 'kk'; did you mean 'k'? allowed: i, j, k, alpha, n, type", 23);
  check_program_error("C[i][j] = 1 + n[0]", "unknown buffer 'n'; allowed: A, B", 14);
  check_program_error("C[i][j] = type", "parameter 'type' is the text 'f'; expected a number", 10);
  check_program_error("C[i][j] = A[type][0]", "parameter 'type' is the text 'f'; expected a number",
                      12);
  check_program_error("C[i][j] = A + 1", "'A' is a buffer with 2 dimensions, found no index", 10);
  check_program_error("C[n][j] = 1", "the index 'n' has the name of a parameter; rename the index",
                      0);
  check_program_error("C[i][j] = sum(A < 2: 1)",
                      "the index 'A' has the name of a buffer; rename the index", 10);
}

TEST_CASE("indices of checks match the dimensions", "[check]") {
  check_program_error("C[i][j] = A[i]", "'A' has 2 dimensions, found 1 index", 10);
  check_program_error("C[i] = 1", "'C' has 2 dimensions, found 1 index", 0);
  CheckBuffers buffers = two_matrices();
  buffers.inputs["A"] = ones({1, 1, 1, 1, 1});
  check_program_error("C[i][j] = A[0][0][0][0][0]",
                      "'A' has 5 dimensions; a check supports at most 4", 10, buffers);
  buffers.before["C"] = ones({4});
  check_program_error("C[i][j] = before(C[i][j])", "'C' has 1 dimension, found 2 indices", 10,
                      buffers);
  buffers.output_extents = {1, 1, 1, 1, 1};
  check_program_error("C[a][b][c][d][e] = 1", "'C' has 5 dimensions; a check supports at most 4", 0,
                      buffers);
}

TEST_CASE("the size of a program is limited", "[check]") {
  const std::string long_sum = "C[i][j] = 1" + repeated(" + 1", 91);
  CHECK(evaluate(Check::parse(long_sum).program({}, two_matrices()), 0).value == 92);
  check_program_error(long_sum + " + 1",
                      "the check needs more than 184 instructions; simplify it, or declare a "
                      "reference kernel instead",
                      376);
  const std::string deep = repeated("1 + (", 22) + "1 + 1" + repeated(")", 22);
  CHECK(evaluate(Check::parse("C[i][j] = " + deep).program({}, two_matrices()), 0).value == 24);
  check_program_error("C[i][j] = 1 + (" + deep + ")",
                      "the check needs more than 24 intermediate values; write a + b + c instead "
                      "of a + (b + c)",
                      129);
  CheckBuffers buffers = two_matrices();
  std::string text = "C[i][j] = A[i][j]";
  for (int i = 1; i < 12; ++i) {
    buffers.inputs["A" + std::to_string(i)] = ones({4, 4});
    text += " + A" + std::to_string(i) + "[i][j]";
  }
  CHECK(evaluate(Check::parse(text + " + A[0][0]").program({}, buffers), 5).value == 13);
  check_program_error(text + " + B[i][j]", "the check reads more than 12 buffers", text.size() + 3,
                      buffers);
}

}  // namespace
}  // namespace gpuexp::own
