#include "core/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace gpuexp {

double quantile(const std::vector<double>& ascending, double q) {
  const double position = q * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, ascending.size() - 1);
  const double weight = position - static_cast<double>(below);
  return ascending[below] + weight * (ascending[above] - ascending[below]);
}

std::optional<std::pair<std::size_t, std::size_t>> median_ci95_ranks(std::size_t n) {
  constexpr double kTail = 0.025;
  constexpr std::size_t kFewest = 6;  // 2 × 2^-5 > 0.05 >= 2 × 2^-6
  if (n < kFewest) return std::nullopt;
  // Terms of the binomial distribution in logarithms, since 2^-n underflows from n = 1075 on.
  const double count = static_cast<double>(n);
  double cumulative = 0.0;
  std::size_t below = 0;  // how many samples lie outside on each side
  for (std::size_t r = 0; r < n / 2; ++r) {
    const double i = static_cast<double>(r);
    cumulative += std::exp(std::lgamma(count + 1) - std::lgamma(i + 1) -
                           std::lgamma(count - i + 1) - count * std::log(2.0));
    if (cumulative > kTail) break;
    below = r;
  }
  return std::pair{below, n - 1 - below};
}

Statistics summarize(const std::vector<double>& samples) {
  if (samples.empty()) throw std::invalid_argument("statistics of no samples");
  for (const double s : samples) {
    if (!std::isfinite(s)) throw std::invalid_argument("statistics of a sample that is not finite");
  }
  std::vector<double> ascending = samples;
  std::sort(ascending.begin(), ascending.end());
  Statistics s;
  s.count = ascending.size();
  s.min = ascending.front();
  s.max = ascending.back();
  s.p5 = quantile(ascending, 0.05);
  s.median = quantile(ascending, 0.5);
  s.p95 = quantile(ascending, 0.95);
  const double n = static_cast<double>(s.count);
  s.mean = std::accumulate(ascending.begin(), ascending.end(), 0.0) / n;
  if (s.count > 1) {
    double squares = 0.0;
    for (const double x : ascending)
      squares += (x - s.mean) * (x - s.mean);
    s.stdev = std::sqrt(squares / (n - 1));
  }
  if (const auto ranks = median_ci95_ranks(s.count)) {
    s.median_ci95 = Interval{ascending[ranks->first], ascending[ranks->second]};
  }
  return s;
}

}  // namespace gpuexp
