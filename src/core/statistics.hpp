// Order statistics of timing samples.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace gpuexp {

struct Interval {
  double low;
  double high;
};

struct Statistics {
  std::size_t count = 0;
  double min = 0;
  double p5 = 0;
  double median = 0;
  double p95 = 0;
  double max = 0;
  double mean = 0;
  std::optional<double> stdev;  ///< sample standard deviation; empty below two samples
  /// 95 % interval of the median from order statistics; empty below six samples, where none exists.
  std::optional<Interval> median_ci95;
};

/// Throws std::invalid_argument for no samples or a sample that is not finite.
Statistics summarize(const std::vector<double>& samples);

/// Quantile q in [0, 1] of ascending values by linear interpolation between order statistics
/// (definition 7 of Hyndman and Fan, The American Statistician 50(4), 1996).
double quantile(const std::vector<double>& ascending, double q);

/// Zero-based ranks (low, high) of the order statistics of n samples that bracket the median with
/// at least 95 % probability whatever the distribution: the largest r with P(Binomial(n, 1/2) <= r)
/// <= 0.025, and its mirror. Empty below n = 6. Assumes independent samples.
std::optional<std::pair<std::size_t, std::size_t>> median_ci95_ranks(std::size_t n);

}  // namespace gpuexp
