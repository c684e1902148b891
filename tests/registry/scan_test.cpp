// Share of prefix sums after a wrong tile sum that the tolerance rejects.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "family/registry.hpp"
#include "support/catch.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

/// Share of the tiles of 1024 numbers whose omission from the next prefix sum would pass.
double share_of_tiles_not_found(const char* dtype, std::int64_t n) {
  constexpr std::int64_t kTile = 1024;
  const Family* const family = Registry::global().find("scan");
  REQUIRE(family);
  const auto problem =
      family->make_problem(values_with(*family, {{"n", n}, {"dtype", std::string(dtype)}}));
  const auto count = static_cast<std::size_t>(n);
  std::vector<std::uint32_t> x(count);
  const auto data = family->make_data({x.data(), nullptr, nullptr});
  const Steps inputs = family->inputs(problem.get(), data.get(), 7);
  for (const Step& step : inputs.all())
    std::get<KernelStep>(step.action).on_host.run(0, n);
  std::vector<double> value(count), magnitude(count);
  family->host_reference(problem.get(), data.get(), {{value.data(), magnitude.data()}, {}});
  const Tolerance tolerance = family->tolerance(problem.get());
  std::int64_t passed = 0;
  for (std::int64_t end = kTile; end < n; end += kTile) {
    const auto at = static_cast<std::size_t>(end);
    const double before = end == kTile ? 0 : value[at - kTile - 1];
    const double of_tile = value[at - 1] - before;
    passed += std::abs(of_tile) <= tolerance.absolute + tolerance.relative * magnitude[at];
  }
  return static_cast<double>(passed) / static_cast<double>(n / kTile);
}

TEST_CASE("prefix sums that omit a tile do not pass", "[scan]") {
  constexpr std::int64_t kMany = 1 << 24;
  // About one tile of integers in a thousand sums to 0.
  CHECK(share_of_tiles_not_found("int32", kMany) < 0.003);
  CHECK(share_of_tiles_not_found("fp32", 1 << 20) < 0.003);
  CHECK(share_of_tiles_not_found("fp32", kMany) < 0.01);
}

}  // namespace
}  // namespace gpuexp::test
