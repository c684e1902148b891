// Share of sums with missing numbers that the tolerance rejects.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "family/registry.hpp"
#include "support/catch.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

/// Share of the groups of 256 consecutive numbers whose omission from a sum of n would pass.
double share_not_found(const char* numbers, std::int64_t n) {
  constexpr std::int64_t kPart = 256;
  const Family* const family = Registry::global().find("reduction");
  REQUIRE(family);
  const auto problem =
      family->make_problem(values_with(*family, {{"n", n}, {"numbers", std::string(numbers)}}));
  std::vector<float> x(static_cast<std::size_t>(n));
  float sum = 0;
  const auto data = family->make_data({x.data(), &sum});
  const Steps inputs = family->inputs(problem.get(), data.get(), 7);
  for (const Step& step : inputs.all())
    std::get<KernelStep>(step.action).on_host.run(0, n);
  double value = 0, magnitude = 0;
  family->host_reference(problem.get(), data.get(), {ReferenceView{&value, &magnitude}});
  const Tolerance tolerance = family->tolerance(problem.get());
  const double allowed = tolerance.absolute + tolerance.relative * magnitude;
  std::int64_t passed = 0;
  for (std::int64_t first = 0; first < n; first += kPart) {
    double part = 0;
    for (std::int64_t i = first; i < first + kPart; ++i)
      part += static_cast<double>(x[static_cast<std::size_t>(i)]);
    // Rounded to fp32.
    passed += std::abs(static_cast<double>(static_cast<float>(value - part)) - value) <= allowed;
  }
  return static_cast<double>(passed) / static_cast<double>(n / kPart);
}

TEST_CASE("a sum that omits 256 of its numbers does not pass", "[reduction]") {
  constexpr std::int64_t kMany = 1 << 24;
  // One group in 1500 sums to 0.
  CHECK(share_not_found("whole", kMany) < 0.002);
  // The allowed rounding error is a hundredth of a typical group's sum.
  CHECK(share_not_found("random", 1 << 20) < 0.01);
  CHECK(share_not_found("random", kMany) < 0.02);
}

TEST_CASE("a sum of whole numbers must be exact", "[reduction]") {
  const Family* const family = Registry::global().find("grid_sum");
  REQUIRE(family);
  const Tolerance tolerance = family->tolerance(
      family->make_problem(values_with(*family, {{"numbers", std::string("whole")}})).get());
  CHECK(tolerance.absolute == 0);
  CHECK(tolerance.relative == 0);
}

}  // namespace
}  // namespace gpuexp::test
