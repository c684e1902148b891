#include "model/queueing.hpp"

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

TEST_CASE("one customer never waits for another") {
  CHECK(time_per_customer(1, {2, 3, 5}, 10) == Approx(20));
  CHECK(time_per_customer(0.25, {2, 3, 5}, 10) == Approx(20));
}

TEST_CASE("many customers saturate the slowest station") {
  CHECK(time_per_customer(1000, {2, 3, 5}, 10) == Approx(5).epsilon(1e-6));
  CHECK(time_per_customer(1e9, {2, 3, 5}, 10) == Approx(5).epsilon(1e-6));
}

TEST_CASE("a balanced network of m stations takes n + m - 1 demands for n customers") {
  // Reiser and Lavenberg's recurrence solved by hand for equal demands and no delay.
  for (const int customers : {1, 2, 7, 64})
    CHECK(time_per_customer(customers, {3, 3, 3, 3}, 0) ==
          Approx(3.0 * (customers + 3) / customers));
}

TEST_CASE("few customers with a long delay follow Little's law") {
  CHECK(time_per_customer(10, {0.001}, 100) == Approx(10).epsilon(1e-3));
}

TEST_CASE("time per customer lies between its bounds and falls with customers") {
  const std::vector<double> demands{1, 0.5, 0.25};
  constexpr double kDelay = 20;
  double before = 1e300;
  for (int n = 1; n <= 128; n *= 2) {
    const double time = time_per_customer(n, demands, kDelay);
    CHECK(time >= 1);
    CHECK(time >= (kDelay + 1.75) / n * (1 - 1e-12));
    CHECK(time <= before);
    const double between = time_per_customer(n + 0.5, demands, kDelay);
    CHECK(between <= time);
    CHECK(between >= time_per_customer(n + 1, demands, kDelay) * (1 - 1e-12));
    before = time;
  }
}

TEST_CASE("without stations only the delay is shared") {
  CHECK(time_per_customer(4, {}, 8) == Approx(2));
}

}  // namespace
}  // namespace gpuexp::test
