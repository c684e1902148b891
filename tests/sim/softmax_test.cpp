// What small problems of the row-wise families have not: rows that take several vectors of each
// thread, several blocks, or begin anywhere; and scores that are too large for a softmax without
// its maximum.
#include <algorithm>
#include <cmath>
#include <map>

#include "family/registry.hpp"
#include "sim/execution.hpp"
#include "simulated/simulated_executor.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

using Changed = std::map<std::string, Value>;

/// The variants that ran, all of which are right.
std::size_t check(const Family& family, const Changed& changed) {
  SimulatedOptions options;
  options.blocks = {ExecutedBlocks::kAll};
  const auto executor = make_simulated_executor(device(), kernels(), options);
  const Values values = values_with(family, changed);
  INFO(family.id << " " << describe(family, values));
  const auto problem = family.make_problem(values);
  executor->set_up(family, values, 7);
  std::size_t ran = 0;
  for (const Variant& variant : family.variants) {
    if (!runs_on(device(), family, variant, problem.get())) continue;
    INFO(variant.id);
    const Verification result = executor->verify(variant, Mode::cold);
    INFO((result.passed() ? "" : failure_of(result)));
    CHECK(result.passed());
    ++ran;
  }
  return ran;
}

// A prime, a multiple of a vector and one more, what a block holds, and what eight do.
TEST_CASE("long rows are right, wherever they begin", "[softmax]") {
  if (!has_machine_code()) return;
  constexpr std::int64_t kRows = 3;
  constexpr std::int64_t kColumns[] = {1009, 4104, 8193, 32768, 65536, 131071, 262144};
  for (const char* id : {"softmax", "softmax_backward", "cross_entropy"}) {
    const Family& family = family_of(id);
    for (const char* type : {"fp32", "bf16"}) {
      for (const std::int64_t columns : kColumns) {
        const std::size_t ran =
            check(family, {{"rows", kRows}, {"columns", columns}, {"dtype", std::string(type)}});
        CHECK(ran >= 3);
      }
    }
  }
}

TEST_CASE("without the maximum, large scores are NaN", "[softmax]") {
  if (!has_machine_code()) return;
  const Family& family = family_of("softmax");
  const Variant& naive = *family.find("naive");
  const auto executor = make_simulated_executor(device(), kernels(), {});
  // Of the result that a variant has where it is made to run.
  const auto verified = [&](const char* variant, double scale) {
    const Values values = values_with(
        family, {{"rows", std::int64_t{5}}, {"columns", std::int64_t{100}}, {"scale", scale}});
    const auto problem = family.make_problem(values);
    CHECK(naive.unsupported(problem.get(), device()).has_value() == (scale > 80));
    executor->set_up(family, values, 7);
    return executor->verify(*family.find(variant), Mode::cold);
  };
  CHECK(verified("naive", 80).passed());
  const Verification wrong = verified("naive", 1000);
  CHECK_FALSE(wrong.passed());
  CHECK(std::any_of(wrong.first_wrong.begin(), wrong.first_wrong.end(),
                    [](const Mismatch& m) { return std::isnan(m.got); }));
  CHECK(verified("three_pass", 1000).passed());
}

}  // namespace
}  // namespace gpuexp::test
