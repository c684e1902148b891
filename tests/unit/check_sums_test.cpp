// Sums of checks: parts, which threads may compute together, values that are computed before a sum,
// and the cost of an element.
#include <array>
#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "own/expression_tree.hpp"
#include "support/catch.hpp"
#include "support/check_matrix.hpp"

namespace gpuexp::own {
namespace {

using check_detail::PartOfSum;
using check_detail::State;

/// kSumParts threads of the host that evaluate an element together, as the threads of a block do.
class Team {
 public:
  struct Member {
    static constexpr int kSize = kSumParts;
    Team* team = nullptr;
    int number = 0;
    int rank() const { return number; }
    bool all_wait(bool waits) const { return waits; }
    void join(const CheckProgram& program, State& state) const {
      team->parts_[static_cast<std::size_t>(number)] = check_detail::computed_part(state);
      team->barrier_.arrive_and_wait();
      check_detail::combine(program, state, team->parts_.data());
      team->barrier_.arrive_and_wait();
    }
  };

  /// The results of all threads.
  std::vector<Checked> evaluate(const CheckProgram& program, std::vector<CheckFault>& faults) {
    std::vector<Checked> results(kSumParts);
    faults.resize(kSumParts);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < kSumParts; ++rank) {
      threads.emplace_back([&, rank] {
        const auto i = static_cast<std::size_t>(rank);
        results[i] = evaluate_with(program, 0, check_detail::StoredElements{}, faults[i],
                                   Member{this, rank});
      });
    }
    threads.clear();
    return results;
  }

 private:
  std::array<PartOfSum, kSumParts> parts_;
  std::barrier<> barrier_{kSumParts};
};

TEST_CASE("a sum that all terms share is computed once", "[check]") {
  const Matrix matrix;
  const CompiledCheck compiled = matrix.compiled(kNormalized);
  CHECK(has_op(compiled.program, CheckOp::keep));
  CHECK(compiled.terms == 3 * kColumns);
  CHECK(compiled.program.cost < 40 * kColumns);
  double mean = 0, variance = 0;
  for (std::int64_t k = 0; k < kColumns; ++k)
    mean += matrix.x[static_cast<std::size_t>(k)] / kColumns;
  for (std::int64_t k = 0; k < kColumns; ++k)
    variance += std::pow(matrix.x[static_cast<std::size_t>(k)] - mean, 2) / kColumns;
  CHECK(evaluate(compiled.program, 7).value ==
        Approx((matrix.x[7] - mean) / std::sqrt(variance + 0.001)));
}

TEST_CASE("values that are computed before a sum are those of each term", "[check]") {
  struct Case {
    std::string shared;    // its inner sum is invariant
    std::string repeated;  // the same, with an inner sum that depends on the index
  };
  const std::vector<Case> cases{
      {"sum(k < 9: x[i][k]*sum(l < 5: x[i][l]))", "sum(k < 9: x[i][k]*sum(l < 5 + 0*k: x[i][l]))"},
      {"sum(k < 9: sum(l < 5: x[i][l]))", "sum(k < 9: sum(l < 5 + 0*k: x[i][l]))"},
      {"sum(k < j: sum(l < 5: x[i][l]) / (1 + sum(l < 5: x[i][l])))",
       "sum(k < j: sum(l < 5 + 0*k: x[i][l]) / (1 + sum(l < 5 + 0*k: x[i][l])))"},
      {"sum(k < sum(l < 3: 1): sum(m < 4: sum(n < 5: x[i][n]) + x[i][m + k]))",
       "sum(k < sum(l < 3: 1): sum(m < 4: sum(n < 5 + 0*m + 0*k: x[i][n]) + x[i][m + k]))"},
      {"sum(k < 3: sum(m < 4: sum(n < 5: x[i][n + k]) * x[i][m]))",
       "sum(k < 3: sum(m < 4: sum(n < 5: x[i][n + k + 0*m]) * x[i][m]))"},
      // Only some terms need the sum, and it has a fault if none does.
      {"sum(k < 9: k > j ? sum(l < 5: x[i][l]) : 1)",
       "sum(k < 9: k > j ? sum(l < 5 + 0*k: x[i][l]) : 1)"},
      {"sum(k < i: sum(l < 3: x[i - 1][l]))", "sum(k < i: sum(l < 3: x[i - 1 + 0*k][l]))"},
      {"sum(k < 2: k < i ? sum(l < 3: x[i - 1][l]) : 1)",
       "sum(k < 2: k < i ? sum(l < 3: x[i - 1 + 0*k][l]) : 1)"},
      {"sum(k < 2: sum(m < 2: m < i ? sum(l < 3: x[i - 1][l]) : sum(l < 2: 1)))",
       "sum(k < 2: sum(m < 2: m < i ? sum(l < 3: x[i - 1 + 0*m][l]) : sum(l < 2 + 0*m: 1)))"},
  };
  for (const DataType type : {DataType::fp32, DataType::int32}) {
    Matrix matrix(type);
    if (type == DataType::int32) {
      for (double& x : matrix.x)
        x = std::floor(8 * x);
    }
    for (const Case& c : cases) {
      CAPTURE(c.shared);
      const CheckProgram shared = matrix.compiled(c.shared).program;
      const CheckProgram repeated = matrix.compiled(c.repeated).program;
      CHECK(has_op(shared, CheckOp::kept));
      for (std::int64_t element = 0; element < kRows * kColumns; element += 777) {
        CheckFault fault, expected_fault;
        const Checked got = evaluate_with(shared, element, check_detail::StoredElements{}, fault);
        const Checked expected =
            evaluate_with(repeated, element, check_detail::StoredElements{}, expected_fault);
        CHECK(std::memcmp(&got.value, &expected.value, sizeof(double)) == 0);
        CHECK(std::memcmp(&got.magnitude, &expected.magnitude, sizeof(double)) == 0);
        CHECK(fault.kind == expected_fault.kind);
      }
    }
  }
}

TEST_CASE("the fault of a value that is computed before a sum names its instruction", "[check]") {
  const Matrix matrix;
  const CompiledCheck compiled =
      matrix.compiled("sum(k < 2: k == 1 ? sum(l < 3: x[l + 3][0]) : 0)");
  CheckFault fault;
  evaluate_with(compiled.program, 0, check_detail::StoredElements{}, fault);
  CHECK(fault.kind == CheckFaultKind::index_out_of_range);
  CHECK(fault.number == 4);
  CHECK(compiled.nodes.at(static_cast<std::size_t>(fault.instruction))->name == "x");
}

TEST_CASE("the threads of a block compute what one thread computes", "[check]") {
  for (const std::string& expression :
       {std::string(kMean), std::string(kNormalized),
        // Fewer terms than parts have room for: the last threads have none.
        std::string("sum(k < 1025: x[i][k]*x[1][k])"),
        std::string("sum(k < C: sum(l < 3: x[i][k]*x[l][k]))"),
        std::string("sum(k < 3: sum(l < C: x[k][l]))"),
        std::string("sum(k < 3: sum(l < C: x[k][l]) > 0 ? sum(m < C: x[i][m]) : 2)"),
        // Faults in one part, in several parts, and in a value that no term needs.
        std::string("sum(k < C + 1: x[i][k])"), std::string("sum(k < C: x[k % 700][0])"),
        std::string("1 + sum(k < 5: k > 5 ? sum(l < C: x[i][l + 1]) : 1)"),
        std::string("1 + sum(k < 5: k > 3 ? sum(l < C: x[i][l + 1]) : 1)"),
        std::string("sum(k < C: k > 1400 ? sum(l < 2: x[l + 3][0]) : 1)"),
        std::string("sum(k < C: 2^46*k)")}) {
    for (const DataType type : {DataType::fp32, DataType::int32}) {
      Matrix matrix(type);
      if (type == DataType::int32) {
        for (double& x : matrix.x)
          x = std::floor(8 * x);
      }
      CAPTURE(expression, name_of(type));
      const CheckProgram program = matrix.compiled(expression).program;
      CheckFault fault;
      const Checked expected = evaluate_with(program, 0, check_detail::StoredElements{}, fault);
      std::vector<CheckFault> faults;
      Team team;
      const std::vector<Checked> got = team.evaluate(program, faults);
      int different = 0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        const bool is_same = std::memcmp(&got[i], &expected, sizeof expected) == 0 &&
                             faults[i].kind == fault.kind && faults[i].number == fault.number &&
                             faults[i].instruction == fault.instruction;
        different += is_same ? 0 : 1;
      }
      CHECK(different == 0);
    }
  }
}

TEST_CASE("long sums of whole numbers stay exact", "[check]") {
  Matrix matrix;
  for (double& x : matrix.x)
    x = std::floor(8 * x);
  CheckProgram program = matrix.compiled("sum(k < C: x[i][k])").program;
  program.rounding.of_output = 0.5;
  program.rounding.output_limit = 0x1p24;
  CHECK(evaluate(program, 0).magnitude == 0);
  program.rounding.exact_limit = 16;
  CHECK(evaluate(program, 0).magnitude > 16);
}

TEST_CASE("the cost of an element counts instructions, and those outside of split sums",
          "[check]") {
  const Matrix matrix;
  const auto costs = [&](const std::string& text) {
    const CheckProgram program = matrix.compiled(text).program;
    return std::array{program.cost, program.unsplit_cost};
  };
  CHECK(costs("x[i][j] + 1") == std::array{5.0, 5.0});
  // Number, begin, and four instructions per term.
  CHECK(costs("sum(k < 10: x[i][k])") == std::array{42.0, 42.0});
  CHECK(costs("sum(k < C: x[i][k])") == std::array{6002.0, 2.0});
  CHECK(costs("sum(k < i + 7: x[i][k])") == std::array{42.0, 42.0});
  CHECK(costs("sum(k < 10: sum(l < C: x[k][l]))") == std::array{60032.0, 32.0});
  CHECK(costs("sum(k < x[0][0]: 1)") == std::array{6.0, 6.0});
}

}  // namespace
}  // namespace gpuexp::own
