// How two runs of one cell differ: the ratio of their medians, its interval, and what may be called
// a difference.
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

/// Median of b over median of a. The distances of the logarithm of the ratio from the ends of its
/// 95 % interval are those of the medians', added in squares, each side of its own: the method of
/// variance estimates recovery (Zou and Donner, Statistics in Medicine 27, 2008). The runs are
/// taken as independent. Empty where a median has no interval or one that reaches down to zero.
std::optional<Ratio> ratio_of(const Statistics& a, const Statistics& b);

/// Geometric mean of independent ratios, and its 95 % interval by the same method: of these cells
/// in these runs; what other runs would give is not in it. Empty for no ratios.
std::optional<Ratio> geometric_mean(const std::vector<Ratio>& ratios);

/// Differences that repeated runs of one binary show, which are no verdict on it: at most
/// `relative`, or `absolute_us` where that is more (short kernels).
struct MinimumEffect {
  double relative = 0;
  double absolute_us = 0;

  /// Of a cell whose faster side takes time_us, as a share of it.
  double at(double time_us) const;
};

enum class Verdict { same, faster, slower, inconclusive };
std::string_view name_of(Verdict verdict);

/// With e = `effect`: slower when the whole interval is above 1 + e, faster when it is below
/// 1 / (1 + e), same when it lies within the two, else inconclusive. NaN is inconclusive.
Verdict verdict_of(const Interval& ratio, double effect);

/// What is left of a difference in time when it has to show in cycles, too: the interval of the
/// ratio with its end nearer to 1 moved to where the interval in cycles begins, at most to 1.
/// `clock_ratio` is the SM clock of B over that of A. A GPU at its power limit settles on another
/// clock in every run; what is slower in time alone was measured at a lower clock.
Interval confirmed_in_cycles(const Interval& ratio, double clock_ratio);

/// The interval with its end nearer to 1 moved by `share` towards 1, and not past it: what is left
/// of a difference once that much is explained.
Interval beyond(const Interval& ratio, double share);

}  // namespace gpuexp
