#include "stats/ratio.hpp"

#include <cmath>
#include <limits>

#include "support/catch.hpp"
#include "support/timing_models.hpp"

namespace gpuexp::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST_CASE("subtracting a share of the difference does not move an interval past 1") {
  CHECK(beyond({1.2, 1.3}, 0.1).low == Approx(1.1));
  CHECK(beyond({1.2, 1.3}, 0.5).low == 1.0);
  CHECK(beyond({0.7, 0.8}, 0.1).high == Approx(0.9));
  CHECK(beyond({0.7, 0.8}, 0.5).high == 1.0);
  CHECK(beyond({0.9, 1.1}, 0.5).low == 0.9);
}

TEST_CASE("an interval keeps the part confirmed in cycles") {
  const auto confirmed = [](double low, double high, double clock_ratio) {
    const Interval i = confirmed_in_cycles({low, high}, clock_ratio);
    return std::pair{i.low, i.high};
  };
  CHECK(confirmed(1.2, 1.3, 1.0) == std::pair{1.2, 1.3});
  CHECK(confirmed(1.2, 1.3, 0.9).first == Approx(1.08));
  CHECK(confirmed(1.2, 1.3, 0.5) == std::pair{1.0, 1.3});
  // A higher clock does not increase the difference in time.
  CHECK(confirmed(1.2, 1.3, 2.0) == std::pair{1.2, 1.3});
  CHECK(confirmed(0.8, 0.9, 1.1).second == Approx(0.99));
  CHECK(confirmed(0.8, 0.9, 2.0) == std::pair{0.8, 1.0});
  CHECK(confirmed(0.9, 1.1, 0.5) == std::pair{0.9, 1.1});
}

TEST_CASE("a verdict needs the whole interval") {
  constexpr double kEffect = 0.25;  // limits 0.8 and 1.25, exact in comparisons
  CHECK(verdict_of({1.26, 1.5}, kEffect) == Verdict::slower);
  CHECK(verdict_of({0.5, 0.79}, kEffect) == Verdict::faster);
  CHECK(verdict_of({0.9, 1.1}, kEffect) == Verdict::same);
  CHECK(verdict_of({0.9, 1.3}, kEffect) == Verdict::inconclusive);
  CHECK(verdict_of({0.7, 1.0}, kEffect) == Verdict::inconclusive);
  CHECK(verdict_of({0.5, 2.0}, kEffect) == Verdict::inconclusive);
  SECTION("intervals at the limits count as the same") {
    CHECK(verdict_of({0.8, 1.25}, kEffect) == Verdict::same);
    CHECK(verdict_of({1.25, 1.3}, kEffect) == Verdict::inconclusive);
    CHECK(verdict_of({0.7, 0.8}, kEffect) == Verdict::inconclusive);
  }
  SECTION("without a minimum effect, the interval must exclude 1") {
    CHECK(verdict_of({1.0, 1.2}, 0) == Verdict::inconclusive);
    CHECK(verdict_of({1.0000001, 1.2}, 0) == Verdict::slower);
    CHECK(verdict_of({1.0, 1.0}, 0) == Verdict::same);
  }
  SECTION("NaN gives no verdict") {
    CHECK(verdict_of({kNan, kNan}, kEffect) == Verdict::inconclusive);
    CHECK(verdict_of({kNan, 0.5}, kEffect) == Verdict::inconclusive);
    CHECK(verdict_of({1.5, kNan}, kEffect) == Verdict::inconclusive);
    CHECK(verdict_of({1.5, 1.6}, kNan) == Verdict::inconclusive);
  }
}

TEST_CASE("the minimum effect is absolute for short kernels") {
  const MinimumEffect effect{0.01, 0.05};
  CHECK(effect.at(100) == 0.01);
  CHECK(effect.at(2) == 0.025);
}

TEST_CASE("a ratio of equal samples is 1, within both intervals") {
  Random random(1);
  const Statistics s = summarize(lognormal_times(random, 50, 0, 0.01), 0);
  const Ratio ratio = ratio_of(s, s).value();
  CHECK(ratio.value == 1);
  CHECK(ratio.ci95.low < 1);
  CHECK(ratio.ci95.high > 1);
}

TEST_CASE("zero times or too few samples have no ratio") {
  const Statistics fine = summarize(Series(20, 5.0), 0);
  CHECK(ratio_of(fine, fine).has_value());
  CHECK(!ratio_of(fine, summarize(Series(20, 0.0), 0)).has_value());
  CHECK(!ratio_of(summarize(Series(20, 0.0), 0), fine).has_value());
  CHECK(!ratio_of(fine, summarize(Series(20, 0.5), 1)).has_value());  // half a tick includes 0
  CHECK(!ratio_of(fine, summarize(Series(5, 5.0), 0)).has_value());
}

TEST_CASE("the interval of a ratio covers the true ratio") {
  for (const double rho : {-0.5, 0.0, 0.3, 0.6}) {
    Random random(2);
    int covered = 0;
    constexpr int kExperiments = 1000;
    for (int i = 0; i < kExperiments; ++i) {
      const auto sample = [&](std::size_t n) {
        return summarize(lognormal_times(random, n, rho, 0.02), 0);
      };
      const Ratio ratio = ratio_of(sample(20), sample(60)).value();
      covered += ratio.ci95.low <= 1 && 1 <= ratio.ci95.high;
    }
    INFO("rho " << rho);
    CHECK(covered >= 0.94 * kExperiments);
  }
}

TEST_CASE("the geometric mean's interval narrows with the number of ratios") {
  const Ratio twice{2, {1.8, 2.2}};
  const Ratio half{0.5, {0.45, 0.55}};
  CHECK(geometric_mean({twice, half})->value == Approx(1));
  CHECK(geometric_mean({twice})->ci95.low == Approx(1.8));
  const auto log_width = [](const Ratio& r) { return std::log(r.ci95.high / r.ci95.low); };
  CHECK(log_width(*geometric_mean(std::vector<Ratio>(16, twice))) == Approx(log_width(twice) / 4));
  CHECK(!geometric_mean({}).has_value());
}

}  // namespace
}  // namespace gpuexp::test
