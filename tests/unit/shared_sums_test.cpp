// Sums that several elements of an output share: their values, how often they are computed, and
// what they cost.
#include "own/shared_sums.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/parallel.hpp"
#include "own/host_evaluation.hpp"
#include "support/catch.hpp"
#include "support/check_matrix.hpp"

namespace gpuexp::own {
namespace {

constexpr const char* kColumnSum = "sum(k < R: x[k][j])";
/// The inner sum uses the index of the outer one, and not j.
constexpr const char* kTwoProducts = "sum(k < 20: sum(l < 9: x[i][l]*x[l % R][k]) * x[k % R][j])";

/// Elements in memory. Counts how many are read.
struct CountedElements {
  std::int64_t* count;
  double operator()(const BufferView& buffer, std::int64_t element) const {
    ++*count;
    return check_detail::StoredElements{}(buffer, element);
  }
};

/// Elements that are read to evaluate the elements of the output in this order, with one set of
/// kept sums.
std::int64_t reads(const CompiledCheck& check, const std::vector<std::int64_t>& elements) {
  std::int64_t count = 0;
  SumValues sums(check.shared_sums);
  for (const std::int64_t element : elements) {
    CheckFault fault;
    evaluate_with(check.program, element, CountedElements{&count}, fault, check_detail::OneThread{},
                  sums);
  }
  return count;
}

std::vector<std::int64_t> every(std::int64_t step) {
  std::vector<std::int64_t> elements;
  for (std::int64_t i = 0; i < kRows * kColumns; i += step)
    elements.push_back(i);
  return elements;
}

Matrix matrix_of(DataType type) {
  Matrix matrix(type);
  if (type == DataType::int32) {
    for (double& x : matrix.x)
      x = std::floor(8 * x);
  }
  matrix.buffers.before["y"] = {matrix.x.data(), DataType::fp64, {kRows, kColumns}};
  return matrix;
}

/// Number of elements whose result, magnitude or fault differs if sums are shared.
int differences(const CompiledCheck& check, const std::vector<std::int64_t>& elements) {
  SumValues sums(check.shared_sums);
  int different = 0;
  for (const std::int64_t element : elements) {
    CheckFault fault, expected_fault;
    const check_detail::StoredElements stored;
    const Checked expected = evaluate_with(check.program, element, stored, expected_fault);
    const Checked got =
        evaluate_with(check.program, element, stored, fault, check_detail::OneThread{}, sums);
    const bool is_same_fault =
        fault.kind == expected_fault.kind &&
        (fault.kind == CheckFaultKind::none ||
         (fault.number == expected_fault.number && fault.dimension == expected_fault.dimension &&
          fault.instruction == expected_fault.instruction));
    const bool is_same = std::memcmp(&got, &expected, sizeof expected) == 0 && is_same_fault;
    different += is_same ? 0 : 1;
  }
  return different;
}

TEST_CASE("shared sums change no bit of a result", "[shared_sums]") {
  for (const DataType type : {DataType::fp32, DataType::int32}) {
    const Matrix matrix = matrix_of(type);
    for (const std::string& expression : {
             std::string(kMean),
             std::string(kNormalized),
             std::string(kColumnSum),
             std::string(kTwoProducts),
             std::string("exp(x[i][j]) / sum(k < C: exp(x[i][k]))"),
             std::string("x[i][j] + sum(k < C: x[i][k]) + sum(k < C: x[0][k]*k)"),
             std::string("before(y[i][j]) + sum(k < C: before(y[i][k])*x[i][k])"),
             // A shared sum in the terms of a split sum, and one that is split itself.
             std::string("sum(k < C: sum(l < 9: x[i][l]*x[l % R][k]) * x[k % R][j])"),
             std::string("sum(k < 3: sum(l < C: x[k][l]*x[i][l]) * x[k][j])"),
             // The inner sum uses the index of the outer one.
             std::string("sum(k < 9: sum(l < k + 1: x[i][l + k]))"),
             std::string("sum(k < 9: sum(l < k + 1: x[i][l + k]*x[k % R][j]))"),
             std::string("sum(k < sum(l < i + 1: 2): x[i][k])*x[i][j]"),
             std::string("sum(k < i: x[i][k]) + sum(k < 3: 1)*x[i][j]"),
             std::string("j > 3 ? sum(k < C: x[i][k]) : sum(k < R: x[k][j])"),
             std::string(
                 "sum(k < C: k > 700 ? x[i][k] : 0) * (j % 2 == 0 || sum(k < 9: x[i][k]) > 0)"),
             // Values that are computed before a sum, within a shared sum and outside of one.
             std::string("sum(k < 9: x[k % R][j]*sum(l < 5: x[i][l]))"),
             std::string("sum(k < 3: sum(m < 8: sum(n < 9: x[i][n])*x[i][m + k])*x[i][j])"),
             // Faults: of one row, of values that some or no terms need, and of a number of terms.
             std::string("sum(k < C + (i == 2): x[i][k]) + x[i][j]"),
             std::string("x[i][j] + sum(k < 5: k > 5 ? sum(l < C: x[i][l + 1]) : 1)"),
             std::string("sum(k < 5: k > j ? sum(l < 9: x[i - 1][l]) : 1)"),
             std::string("sum(k < 5: sum(l < 9: x[i - (k == 3)][l])*x[k % R][j])"),
             std::string("sum(k < 2^(30*i): 0)"),
             std::string("sum(k < C: 2^46*k*i) + j"),
         }) {
      CAPTURE(expression, name_of(type));
      CompiledCheck check = matrix.compiled(expression);
      check.program.rounding.of_output = 0.5;
      std::vector<std::int64_t> elements = every(157);
      if (expression.find("2^(30") != std::string::npos) elements = {0, 1, 3000, 3001};
      for (const double exact_limit : {0x1p24, 0x1p10, 0.0}) {
        check.program.rounding.exact_limit = exact_limit;
        CHECK(differences(check, elements) == 0);
        std::ranges::reverse(elements);
        CHECK(differences(check, elements) == 0);
      }
    }
  }
}

TEST_CASE("a sum is computed once for all elements that share it", "[shared_sums]") {
  const Matrix matrix = matrix_of(DataType::fp32);
  constexpr std::int64_t kElements = kRows * kColumns;
  const auto reads_of = [&](const std::string& expression) {
    return reads(matrix.compiled(expression), every(1));
  };
  CHECK(reads_of(kMean) == kRows * kColumns);
  CHECK(reads_of(kNormalized) == kElements + 3 * kRows * kColumns);
  CHECK(reads_of(kColumnSum) == kRows * kColumns);
  CHECK(reads_of("x[i][j] + sum(k < 9: x[0][k])") == kElements + 9);
  CHECK(reads_of(kTwoProducts) == kRows * 20 * 2 * 9 + 20 * kElements);
  // Also in an order in which rows alternate.
  std::vector<std::int64_t> alternating;
  for (std::int64_t j = 0; j < kColumns; j += 100)
    for (std::int64_t i = 0; i < kRows; ++i)
      alternating.push_back(i * kColumns + j);
  CHECK(reads(matrix.compiled(kMean), alternating) == kRows * kColumns);
}

TEST_CASE("sums that use all indices of the output are not shared", "[shared_sums]") {
  const Matrix matrix = matrix_of(DataType::fp32);
  for (const std::string& expression :
       {std::string("sum(k < 9: x[i][k]*x[0][j])"), std::string("sum(k < j: x[i][k])"),
        std::string("x[i][j] + 1"), std::string("sum(k < 9: sum(l < 9: x[i][l]*x[0][k]*j))")}) {
    CAPTURE(expression);
    CHECK(matrix.compiled(expression).shared_sums.empty());
  }
  // Its outer sum shares it already.
  CHECK(matrix.compiled("sum(k < 9: sum(l < 9: x[i][l + k]))").shared_sums.size() == 1);
  // The order of its terms depends on whether the outer sum is split.
  CHECK(matrix.compiled("sum(k < j: sum(l < C: x[i][l]*k) * j)").shared_sums.empty());
  // The number of its values is not known.
  CHECK(matrix.compiled("sum(k < x[0][0]: sum(l < 9: x[i][l]*k)*j)").shared_sums.empty());
}

TEST_CASE("a sum is shared if its values are needed again soon", "[shared_sums]") {
  constexpr auto kMost = static_cast<double>(kMaxKeptSums);
  const auto computed = [](const std::vector<bool>& uses, const std::vector<double>& extents,
                           std::size_t rank) {
    const auto sum = sum_of(uses, extents, rank);
    return sum ? sum->computed.of_all : 1;
  };
  CHECK(computed({true, false}, {10, 50}, 2) == Approx(1 / 50.));
  CHECK(computed({false, true}, {10, 50}, 2) == Approx(1 / 10.));
  CHECK(computed({false, true}, {10, kMost}, 2) == Approx(1 / 10.));
  CHECK(computed({false, true}, {10, kMost + 1}, 2) == 1);
  CHECK(computed({true, false}, {kMost + 1, 50}, 2) == Approx(1 / 50.));
  // Only neighbours share values if there are too many.
  CHECK(computed({false, true, false}, {10, kMost + 1, 50}, 3) == Approx(1 / 50.));
  CHECK(computed({true, false, true}, {10, 50, kMost}, 2) == Approx(1 / 50.));
  CHECK(computed({true, false, true}, {10, 50, kMost + 1}, 2) == 1);
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  CHECK(computed({true, false, true}, {10, 50, kUnknown}, 2) == 1);
  CHECK(computed({true, false, false}, {10, 50, kUnknown}, 2) == Approx(1 / 50.));
  CHECK(computed({true, false}, {10, 1}, 2) == 1);
}

TEST_CASE("values that do not fit are recomputed", "[shared_sums]") {
  // 2^15 + 2 sums of rows, of which no more than 2^15 are kept.
  constexpr std::int64_t kMany = kMaxKeptSums + 2;
  std::vector<double> x(static_cast<std::size_t>(kMany));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<double>(i);
  CheckBuffers buffers;
  buffers.inputs["x"] = {x.data(), DataType::fp64, {kMany}};
  buffers.output_extents = {kMany, 2};
  const Check check = Check::parse("y[i][j] = sum(k < 2: x[i])");
  const CompiledCheck compiled = check.compiled({}, buffers);
  // Rows 0 and 2^15 have one place.
  const std::vector<std::int64_t> elements{0, 1, 2 * kMaxKeptSums, 2 * kMaxKeptSums + 1, 0, 1};
  CHECK(reads(compiled, elements) == 3 * 2);
  CHECK(differences(compiled, elements) == 0);
}

TEST_CASE("the cost of an element on the host counts what it shares", "[shared_sums]") {
  const Matrix matrix = matrix_of(DataType::fp32);
  const auto cost = [&](const std::string& expression) {
    return matrix.compiled(expression).shared_cost;
  };
  constexpr auto kRow = static_cast<double>(kColumns);
  const double per_piece = (1 + 63 / kRow) / 64;
  // Number of terms; begin, and four instructions per term.
  CHECK(cost("sum(k < C: x[i][k])").of_all == Approx(1 + (1 + 4 * kRow) / kRow));
  CHECK(cost("sum(k < C: x[i][k])").of_drawn == Approx(1 + (1 + 4 * kRow) * per_piece));
  CHECK(cost(kColumnSum).of_all == Approx(1 + 17. / kRows));
  CHECK(cost(kColumnSum).of_drawn == Approx(1 + 17));
  for (const char* expression : {"x[i][j] + 1", "sum(k < C: x[i][k]*j)"}) {
    CHECK(cost(expression).of_all == Approx(matrix.compiled(expression).program.cost));
    CHECK(cost(expression).of_drawn == Approx(matrix.compiled(expression).program.cost));
  }
}

TEST_CASE("several threads evaluate elements with sums of their own", "[shared_sums]") {
  const Matrix matrix = matrix_of(DataType::fp32);
  const CompiledCheck check = matrix.compiled(kTwoProducts);
  constexpr auto kElements = static_cast<std::size_t>(kRows * kColumns);
  std::vector<double> value(kElements), magnitude(kElements);
  const ReferenceView view{value.data(), magnitude.data()};
  HostEvaluation on_host(check);
  for_parts(4, kRows * kColumns, 64,
            [&](std::int64_t first, std::int64_t end) { on_host.evaluate(view, first, end); });
  int different = 0;
  for (std::size_t i = 0; i < kElements; ++i) {
    const Checked expected = evaluate(check.program, static_cast<std::int64_t>(i));
    const Checked got{value[i], magnitude[i]};
    different += std::memcmp(&got, &expected, sizeof expected) == 0 ? 0 : 1;
  }
  CHECK(different == 0);
}

}  // namespace
}  // namespace gpuexp::own
