// Comparison of two runs of one cell: ratio of medians, its interval, and the verdict.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "stats/statistics.hpp"

namespace gpuexp {

struct Ratio {
  double value;
  Interval ci95;
};

/// Median of b divided by median of a, for independent runs. The interval is computed on
/// logarithms: on each side, its width is the root of the sum of squares of the widths of the two
/// medians' intervals (method of variance estimates recovery, Zou and Donner, Statistics in
/// Medicine 27, 2008). Empty if a median has no interval, or an interval that includes zero.
std::optional<Ratio> ratio_of(const Statistics& a, const Statistics& b);

/// Geometric mean of independent ratios, with a 95 % interval by the method of ratio_of(). The
/// interval is for these cells in these runs, and does not include the variation of other runs.
/// Empty for no ratios.
std::optional<Ratio> geometric_mean(const std::vector<Ratio>& ratios);

/// The largest difference that does not count as a change, because repeated runs of one binary
/// show it: the share `relative`, or `absolute_us` if it is longer (short kernels).
struct MinimumEffect {
  double relative = 0;
  double absolute_us = 0;

  /// The minimum effect as a share of `time_us`, the time of the faster of the two runs.
  double at(double time_us) const;
};

enum class Verdict { same, faster, slower, inconclusive };
std::string_view name_of(Verdict verdict);

/// With e = `effect`: slower if the whole interval is above 1 + e, faster if it is below 1 / (1 +
/// e), same if it is between these values, otherwise inconclusive. NaN is inconclusive.
Verdict verdict_of(const Interval& ratio, double effect);

/// The interval of the part of a difference in time that is also a difference in cycles. The end
/// nearer to 1 moves towards 1, to the corresponding end of the interval in cycles, at most to 1.
/// `clock_ratio` is the SM clock of B divided by the SM clock of A. A GPU at its power limit
/// settles on a different clock in every run, so a run with more time but equal cycles only had a
/// lower clock.
Interval confirmed_in_cycles(const Interval& ratio, double clock_ratio);

/// The interval with its end nearer to 1 moved by `share` towards 1, at most to 1: the difference
/// that remains if `share` of it has another cause.
Interval beyond(const Interval& ratio, double share);

}  // namespace gpuexp
