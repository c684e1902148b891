// Series of timing samples with a known median, of the kinds seen on GPUs.
#pragma once

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace gpuexp::test {

using Random = std::mt19937_64;
using Series = std::vector<double>;

inline double normal(Random& random) {
  return std::normal_distribution<double>()(random);
}

inline double uniform(Random& random) {
  return std::uniform_real_distribution<double>()(random);
}

/// Standard normal numbers with correlation rho^k at lag k.
inline Series autoregression(Random& random, std::size_t n, double rho) {
  Series series(n);
  double x = normal(random);
  for (double& value : series) {
    value = x;
    x = rho * x + std::sqrt(1 - rho * rho) * normal(random);
  }
  return series;
}

/// f of each value.
template <class F>
Series mapped(Series series, F f) {
  for (double& value : series)
    value = f(value);
  return series;
}

/// Times with a median of 100 and a relative spread of about `spread`.
inline Series lognormal_times(Random& random, std::size_t n, double rho, double spread) {
  return mapped(autoregression(random, n, rho),
                [spread](double x) { return 100 * std::exp(spread * x); });
}

/// Two speeds, 100 and 110, each with standard deviation 1. The slow one has probability `slow`; a
/// state persists with probability `stay`, otherwise it is drawn again.
inline Series bimodal_times(Random& random, std::size_t n, double slow, double stay) {
  Series series(n);
  bool is_slow = uniform(random) < slow;
  for (double& value : series) {
    value = (is_slow ? 110 : 100) + normal(random);
    if (uniform(random) >= stay) is_slow = uniform(random) < slow;
  }
  return series;
}

/// The median of bimodal_times.
inline double bimodal_median(double slow) {
  const auto below = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
  double low = 90;
  double high = 120;
  while (high - low > 1e-9) {
    const double middle = (low + high) / 2;
    const double share = (1 - slow) * below(middle - 100) + slow * below(middle - 110);
    (share < 0.5 ? low : high) = middle;
  }
  return low;
}

struct TimingModel {
  std::string name;
  std::function<Series(Random&, std::size_t n)> series;
  double median;
  double quantum = 0;
};

inline std::vector<TimingModel> timing_models() {
  const auto ar = [](double rho, double spread) {
    return [=](Random& r, std::size_t n) { return lognormal_times(r, n, rho, spread); };
  };
  const auto bimodal = [](double slow, double stay) {
    return [=](Random& r, std::size_t n) { return bimodal_times(r, n, slow, stay); };
  };
  // Rounded to whole timer ticks; the true median lies between two ticks.
  const auto ticks = [](double spread) {
    return [=](Random& r, std::size_t n) {
      return mapped(autoregression(r, n, 0),
                    [=](double x) { return std::round(100.3 + spread * x); });
    };
  };
  const auto drift = [](double deviations) {
    return [=](Random& r, std::size_t n) {
      Series series = autoregression(r, n, 0);
      for (std::size_t i = 0; i < n; ++i) {
        const double progress = (static_cast<double>(i) + 0.5) / static_cast<double>(n) - 0.5;
        series[i] += 100 + deviations * progress;
      }
      return series;
    };
  };
  // Half of the variance is a state with a memory of ten rounds; the other half is noise.
  const auto slow_state = [](Random& r, std::size_t n) {
    Series series = autoregression(r, n, 0.9);
    for (double& x : series)
      x = 100 * std::exp(0.05 * (x + normal(r)) / std::sqrt(2.0));
    return series;
  };
  return {
      {"independent, lognormal", ar(0, 0.5), 100},
      {"AR(1), rho -0.5", ar(-0.5, 0.05), 100},
      {"AR(1), rho 0.3", ar(0.3, 0.05), 100},
      {"AR(1), rho 0.6", ar(0.6, 0.05), 100},
      {"slow state under noise", slow_state, 100},
      {"two speeds, 70/30", bimodal(0.3, 0), bimodal_median(0.3)},
      {"two speeds, 55/45", bimodal(0.45, 0), bimodal_median(0.45)},
      {"two speeds, kept with 0.6", bimodal(0.35, 0.6), bimodal_median(0.35)},
      {"ticks of 3 deviations", ticks(1.0 / 3), 100.3, 1},
      {"ticks of half a deviation", ticks(2), 100.3, 1},
      {"drift of 2 deviations", drift(2), 100},
      {"drift of 6 deviations", drift(6), 100},
  };
}

}  // namespace gpuexp::test
