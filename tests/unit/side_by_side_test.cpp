#include "run/side_by_side.hpp"

#include <algorithm>

#include "support/catch.hpp"
#include "support/fake_executor.hpp"
#include "support/toy_family.hpp"

namespace gpuexp::test {
namespace {

/// Two executors for variants of a toy family.
struct TwoSides {
  Family family = toy_family();
  Values values = family.defaults();
  FakeExecutor first;
  FakeExecutor second;
  MeasureSettings settings;

  SideBySide measured(const std::function<bool()>& interrupted = [] { return false; }) {
    return measure_side_by_side({Side{first, family, values, *family.find("first")},
                                 Side{second, family, values, *family.find("second")}},
                                Mode::cold, 7, settings, interrupted);
  }
};

TEST_CASE("two sides are verified and measured alternately", "[side_by_side]") {
  TwoSides sides;
  std::vector<std::string> order;
  sides.settings.min_seconds = 0;
  sides.first.time_us = [&](const std::string&, int n) {
    return order.push_back("a"), 8 + 0.01 * (n % 3);
  };
  sides.second.time_us = [&](const std::string&, int n) {
    return order.push_back("b"), 4 + 0.01 * (n % 3);
  };
  const SideBySide measured = sides.measured();
  CHECK(measured.why_not.empty());
  CHECK(measured.times[0].median == Approx(8.01));
  CHECK(measured.times[1].median == Approx(4.01));
  REQUIRE(measured.ratio);
  CHECK(measured.ratio->value == Approx(4.01 / 8.01));
  CHECK(measured.times[0].count == measured.times[1].count);
  CHECK(measured.times[0].count >= 20);
  REQUIRE(order.size() >= 6);
  CHECK(std::vector<std::string>(order.begin(), order.begin() + 6) ==
        std::vector<std::string>{"a", "b", "b", "a", "a", "b"});
  CHECK(std::vector<std::string>(sides.first.calls.begin(), sides.first.calls.begin() + 5) ==
        std::vector<std::string>{"set_up 7", "poison first", "launch first cold", "check first",
                                 "floor warm"});
}

TEST_CASE("an incorrect side is not measured", "[side_by_side]") {
  TwoSides sides;
  sides.second.verification = [](const std::string&, int) {
    Verification wrong;
    wrong.elements = wrong.checked = 8;
    wrong.wrong = 8;
    return wrong;
  };
  const SideBySide measured = sides.measured();
  CHECK_THAT(measured.why_not,
             Catch::Matchers::StartsWith("toy/second is incorrect: 8 of 8 elements are wrong"));
  CHECK_FALSE(measured.ratio);
  CHECK(sides.first.samples_of("first") == 0);
  CHECK(sides.second.samples_of("second") == 0);
}

TEST_CASE("measuring side by side ends at a cap, at an interrupt and with a fault",
          "[side_by_side]") {
  TwoSides sides;
  sides.first.time_us = [](const std::string&, int n) { return n % 2 == 0 ? 1.0 : 9.0; };
  sides.settings.max_samples = 50;
  CHECK(sides.measured().times[0].count == 50);
  CHECK(sides.measured([] { return true; }).why_not == "interrupted");
  sides.second.fault = [](const std::string& call) {
    if (call == "launch second cold") throw DeviceError("a fault", DeviceFault::lost);
  };
  CHECK_THROWS_WITH(sides.measured(), "a fault");
}

}  // namespace
}  // namespace gpuexp::test
