// Statistics of timing samples. Successive samples are correlated, the clock quantizes them, and
// their distribution can be bimodal. docs/statistics.md states the guarantees of the interval.
#pragma once

#include <cstddef>
#include <optional>
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
  double p25 = 0;
  double median = 0;
  double p75 = 0;
  double p95 = 0;
  double max = 0;
  double mean = 0;
  std::optional<double> stdev;  ///< sample standard deviation; empty below two samples
  double mad = 0;
  /// Number of samples that differ from the median by more than 14.826 MAD, ten standard
  /// deviations of a normal distribution: the rule of hyperfine (sharkdp/hyperfine,
  /// src/outlier_detection.rs), after Iglewicz and Hoaglin, How to Detect and Handle Outliers,
  /// 1993. If MAD is less than half a quantum, half a quantum replaces it, because one step of
  /// the timer is not an outlier.
  std::size_t outliers = 0;
  /// Number of successive samples equivalent to one independent sample, from correlation_time().
  double correlation_time = 1;
  double quantum_us = 0;
  std::optional<Interval> median_ci95;
};

/// Summarizes samples in the order of measurement. `quantum_us` is the timer resolution; 0:
/// unknown. Throws std::invalid_argument for no samples, for a sample that is not finite, and for
/// a quantum that is negative or not finite.
Statistics summarize(const std::vector<double>& samples_in_round_order, double quantum_us);

/// Quantile q in [0, 1] of ascending values by linear interpolation between order statistics
/// (definition 7 of Hyndman and Fan, The American Statistician 50(4), 1996).
double quantile(const std::vector<double>& ascending, double q);

std::optional<double> median_of(std::vector<double> values);

/// Resolution of the timer: the smallest difference of more than 1 ns between two samples; 0 if
/// there is no such difference.
double timer_quantum_us(std::vector<double> samples_us);

/// Variance of the median of these samples divided by the variance of the median of the same
/// number of independent samples, at least 1. It is the integrated autocorrelation time of the
/// signs (sample above or below the median). The result is the larger of two estimates:
/// - for short series: the lag-1 autocorrelation of the samples' ranks, corrected for its bias
///   (Marriott and Pope, Biometrika 41, 1954) and continued as a first-order autoregression;
/// - for states that last longer than lag 1 shows: the autocovariances of the signs, in a Bartlett
///   window of 1.3 sqrt(n) lags (Lazarus, Lewis, Stock and Watson, J. Business & Economic
///   Statistics 36(4), 2018).
/// Negative correlation counts as 0, because a noisy estimate of it would narrow the interval.
double correlation_time(const std::vector<double>& samples_in_round_order);

/// 95 % interval of the median between two order statistics, 1.96/2 sqrt(n × correlation_time)
/// ranks from the middle, rounded outwards. For correlation_time 1, these are the ranks of the
/// binomial distribution, which are valid for any distribution of samples. For correlated
/// samples, this is Woodruff's interval (J. American Statistical Association 47, 1952) with the
/// variance of the empirical distribution function at the median. If a rank is out of range, the
/// minimum or the maximum replaces its sample, and the confidence is less than 95 %. An interval
/// narrower than `quantum` is widened about its middle to `quantum`, because a quantized median
/// can be off by half a quantum. Empty below six samples.
std::optional<Interval> median_ci95(const std::vector<double>& ascending, double correlation_time,
                                    double quantum);

}  // namespace gpuexp
