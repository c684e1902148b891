#include "stats/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace gpuexp {

namespace {

std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

// Rank of each value minus the mean rank. Equal values have the mean of their ranks.
std::vector<double> centred_ranks(const std::vector<double>& values) {
  const std::vector<double> ascending = sorted(values);
  std::vector<double> ranks;
  for (const double v : values) {
    const auto [first, end] = std::equal_range(ascending.begin(), ascending.end(), v);
    const auto twice = (first - ascending.begin()) + (end - ascending.begin()) - std::ssize(values);
    ranks.push_back(static_cast<double>(twice) / 2);
  }
  return ranks;
}

// 1 above the median, -1 below the median, 0 at the median.
std::vector<double> signs_about_median(const std::vector<double>& values) {
  const double median = median_of(values).value();
  std::vector<double> signs;
  for (const double v : values)
    signs.push_back(static_cast<double>(v > median) - static_cast<double>(v < median));
  return signs;
}

double lagged_product(const std::vector<double>& values, std::size_t lag) {
  double sum = 0;
  for (std::size_t i = lag; i < values.size(); ++i)
    sum += values[i] * values[i - lag];
  return sum;
}

// Correlation time of the signs of a first-order Gaussian autoregression: the signs of normal
// numbers with correlation r have correlation 2/pi asin r.
double autoregressive_time(const std::vector<double>& values) {
  constexpr double kLargest = 0.95;  // the sum diverges at 1
  constexpr double kNegligible = 1e-4;
  constexpr double kPi = 3.14159265358979323846;
  const std::vector<double> ranks = centred_ranks(values);
  const double variance = lagged_product(ranks, 0);
  const double n = static_cast<double>(values.size());
  if (!(variance > 0)) return 1;
  const double biased = lagged_product(ranks, 1) / variance;
  const double rho = std::min((n * biased + 1) / (n - 3), kLargest);
  double time = 1;
  double power = rho;
  while (power > kNegligible) {
    time += 4 / kPi * std::asin(power);
    power *= rho;
  }
  return time;
}

// Deviations from an estimated median sum to about 0, which decreases the estimate by the share
// window / n. The last line divides by the remaining share.
double windowed_time(const std::vector<double>& values) {
  const std::vector<double> signs = signs_about_median(values);
  const double variance = lagged_product(signs, 0);
  if (!(variance > 0)) return 1;
  const double n = static_cast<double>(values.size());
  const double window = std::round(1.3 * std::sqrt(n));
  double time = 1;
  for (std::size_t lag = 1; static_cast<double>(lag) < window; ++lag)
    time += 2 * (1 - static_cast<double>(lag) / window) * lagged_product(signs, lag) / variance;
  return time * n / (n - window);
}

void check(const std::vector<double>& samples, double quantum_us) {
  if (samples.empty()) throw std::invalid_argument("statistics of no samples");
  for (const double s : samples) {
    if (!std::isfinite(s)) throw std::invalid_argument("statistics of a sample that is not finite");
  }
  if (!(quantum_us >= 0) || !std::isfinite(quantum_us))
    throw std::invalid_argument("the timer resolution must be finite and at least 0");
}

void fill_spread(const std::vector<double>& ascending, Statistics& s) {
  constexpr double kOutlierMads = 14.826;
  std::vector<double> deviations;
  double squares = 0;
  for (const double x : ascending) {
    deviations.push_back(std::abs(x - s.median));
    squares += (x - s.mean) * (x - s.mean);
  }
  if (s.count > 1) s.stdev = std::sqrt(squares / static_cast<double>(s.count - 1));
  std::sort(deviations.begin(), deviations.end());
  s.mad = quantile(deviations, 0.5);
  const double limit = kOutlierMads * std::max(s.mad, s.quantum_us / 2);
  s.outliers = static_cast<std::size_t>(
      deviations.end() - std::upper_bound(deviations.begin(), deviations.end(), limit));
}

}  // namespace

double quantile(const std::vector<double>& ascending, double q) {
  const double position = q * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, ascending.size() - 1);
  const double weight = position - static_cast<double>(below);
  return ascending[below] + weight * (ascending[above] - ascending[below]);
}

std::optional<double> median_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  return quantile(sorted(std::move(values)), 0.5);
}

double timer_quantum_us(std::vector<double> samples_us) {
  // Much less than the step of any timer, and much more than the error of a conversion from
  // float.
  constexpr double kSameUs = 1e-3;
  std::sort(samples_us.begin(), samples_us.end());
  double quantum_us = 0;
  for (std::size_t i = 1; i < samples_us.size(); ++i) {
    const double step = samples_us[i] - samples_us[i - 1];
    if (step > kSameUs && (quantum_us == 0 || step < quantum_us)) quantum_us = step;
  }
  return quantum_us;
}

double correlation_time(const std::vector<double>& samples_in_round_order) {
  constexpr std::size_t kFewest = 6;  // median_ci95() has no interval for fewer samples
  if (samples_in_round_order.size() < kFewest) return 1;
  return std::max(
      {1.0, autoregressive_time(samples_in_round_order), windowed_time(samples_in_round_order)});
}

std::optional<Interval> median_ci95(const std::vector<double>& ascending, double correlation_time,
                                    double quantum) {
  constexpr double kNormal = 1.959964;  // 97.5 % quantile
  const double n = static_cast<double>(ascending.size());
  const auto rank = [n](double time) { return (n - 1) / 2 - kNormal / 2 * std::sqrt(n * time); };
  if (rank(1) < 0) return std::nullopt;
  const auto below = static_cast<std::size_t>(std::max(rank(correlation_time), 0.0));
  const double low = ascending[below];
  const double high = ascending[ascending.size() - 1 - below];
  const double widening = std::max(quantum - (high - low), 0.0) / 2;
  return Interval{low - widening, high + widening};
}

Statistics summarize(const std::vector<double>& samples_in_round_order, double quantum_us) {
  check(samples_in_round_order, quantum_us);
  const std::vector<double> ascending = sorted(samples_in_round_order);
  Statistics s;
  s.count = ascending.size();
  s.quantum_us = quantum_us;
  s.min = ascending.front();
  s.max = ascending.back();
  s.p5 = quantile(ascending, 0.05);
  s.p25 = quantile(ascending, 0.25);
  s.median = quantile(ascending, 0.5);
  s.p75 = quantile(ascending, 0.75);
  s.p95 = quantile(ascending, 0.95);
  s.mean = std::accumulate(ascending.begin(), ascending.end(), 0.0) / static_cast<double>(s.count);
  fill_spread(ascending, s);
  s.correlation_time = correlation_time(samples_in_round_order);
  s.median_ci95 = median_ci95(ascending, s.correlation_time, quantum_us);
  return s;
}

}  // namespace gpuexp
