// Statistics of timing samples, which are correlated from one to the next, quantised by the clock,
// and sometimes of two kinds. docs/statistics.md says what the interval promises, and how far a
// simulation found that to hold.
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
  double mad = 0;               ///< median of |sample - median|, not scaled
  /// Samples further from the median than 14.826 MAD, ten standard deviations of a normal
  /// distribution: the rule of hyperfine (sharkdp/hyperfine, src/outlier_detection.rs), after
  /// Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993. Half a quantum stands in for a
  /// smaller MAD, since one tick of the clock is no outlier.
  std::size_t outliers = 0;
  /// Correlated samples that tell as much of the median as one independent sample: correlation_time
  /// of the samples.
  double correlation_time = 1;
  double quantum_us = 0;  ///< timer resolution, as given; 0 where unknown
  /// 95 % interval of the median; empty below six samples, where none exists. See median_ci95.
  std::optional<Interval> median_ci95;
};

/// Samples are in the order in which they were taken; `quantum_us` is the step of the clock that
/// took them, 0 where unknown. Throws std::invalid_argument for no samples, a sample that is not
/// finite, or a quantum that is negative or not finite.
Statistics summarize(const std::vector<double>& samples_in_round_order, double quantum_us);

/// Quantile q in [0, 1] of ascending values by linear interpolation between order statistics
/// (definition 7 of Hyndman and Fan, The American Statistician 50(4), 1996).
double quantile(const std::vector<double>& ascending, double q);

/// Empty for no values.
std::optional<double> median_of(std::vector<double> values);

/// The step of the timer that took these samples: the smallest difference between any two that
/// differ; 0 when none do.
double timer_quantum_us(std::vector<double> samples_us);

/// How many times the variance of a median of these samples exceeds that of as many independent
/// ones, at least 1: the integrated autocorrelation time of "is this sample above the median". The
/// larger of two estimates, since each is blind where the other sees:
/// - lag 1 of the samples' ranks, corrected for its bias in short series (Marriott and Pope,
///   Biometrika 41, 1954) and continued as an autoregression of first order, for short series;
/// - the autocovariances of the signs themselves, in a Bartlett window of 1.3 sqrt(n) lags
///   (Lazarus, Lewis, Stock and Watson, J. Business & Economic Statistics 36(4), 2018), for states
///   that last longer than lag 1 tells.
/// Negative correlation is taken for none: it would narrow the interval on the word of a noisy
/// estimate.
double correlation_time(const std::vector<double>& samples_in_round_order);

/// 95 % interval of the median between two order statistics: those at a distance of
/// 1.96/2 sqrt(n × correlation_time) ranks from the middle, rounded outwards. For correlation_time
/// 1 they are the ranks of the binomial distribution, which hold whatever the distribution; for
/// correlated samples this is Woodruff's interval (J. American Statistical Association 47, 1952)
/// with the variance of the empirical distribution function at the median. Where the ranks lie
/// beyond the samples, the extremes stand for them: then it promises less than 95 %.
/// `quantum`: half the width is at least half of it, because the median of ticks can be off by so
/// much; the interval is widened about its middle. Empty below six samples.
std::optional<Interval> median_ci95(const std::vector<double>& ascending, double correlation_time,
                                    double quantum);

}  // namespace gpuexp
