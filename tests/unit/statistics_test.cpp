#include "core/statistics.hpp"

#include <cmath>
#include <limits>
#include <random>

#include "support/catch.hpp"

namespace gpuexp {
namespace {

TEST_CASE("quantiles interpolate between order statistics") {
  const std::vector<double> v{1, 2, 3, 4};
  CHECK(quantile(v, 0.0) == 1.0);
  CHECK(quantile(v, 0.5) == 2.5);
  CHECK(quantile(v, 1.0) == 4.0);
  CHECK(quantile({7.0}, 0.95) == 7.0);
}

TEST_CASE(
    "the median of an even count lies between the middle two, of an odd count on the middle one") {
  CHECK(summarize({4, 1, 3, 2}).median == 2.5);
  CHECK(summarize({5, 1, 3}).median == 3.0);
}

TEST_CASE("ranks of the median's interval are those of the binomial distribution") {
  CHECK(!median_ci95_ranks(5).has_value());
  // Tables of order-statistic intervals, e.g. Conover, Practical Nonparametric Statistics: n = 6
  // takes the extremes, n = 10 the 2nd and 9th, n = 20 the 6th and 15th, n = 100 the 40th and 61st.
  const auto ranks = [](std::size_t n) { return median_ci95_ranks(n).value(); };
  CHECK(ranks(6) == std::pair<std::size_t, std::size_t>{0, 5});
  CHECK(ranks(10) == std::pair<std::size_t, std::size_t>{1, 8});
  CHECK(ranks(20) == std::pair<std::size_t, std::size_t>{5, 14});
  CHECK(ranks(100) == std::pair<std::size_t, std::size_t>{39, 60});
  CHECK(ranks(5000).first > 2400);
}

TEST_CASE("the interval covers the true median in at least 95 of 100 experiments") {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> samples(0.0, 0.5);  // median 1
  int covered = 0;
  constexpr int kExperiments = 4000;
  for (int i = 0; i < kExperiments; ++i) {
    std::vector<double> v(25);
    for (double& x : v)
      x = samples(random);
    const Statistics s = summarize(v);
    covered += s.median_ci95->low <= 1.0 && 1.0 <= s.median_ci95->high;
  }
  // Exact coverage for n = 25 is 95.7 %; three standard errors are 1 %.
  CHECK(covered >= kExperiments * 0.945);
}

TEST_CASE("what is not defined is empty") {
  const Statistics one = summarize({2.0});
  CHECK(!one.stdev.has_value());
  CHECK(!one.median_ci95.has_value());
  CHECK(summarize({1.0, 3.0}).stdev.value() == Approx(std::sqrt(2.0)));
}

TEST_CASE("samples that are no numbers are refused") {
  CHECK_THROWS_AS(summarize({}), std::invalid_argument);
  CHECK_THROWS_AS(summarize({1.0, std::nan("")}), std::invalid_argument);
  CHECK_THROWS_AS(summarize({std::numeric_limits<double>::infinity()}), std::invalid_argument);
}

}  // namespace
}  // namespace gpuexp
