// The difference between two runs of one cell: the ratio of their medians, its interval, and the
// verdict.
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

/// Median of b divided by median of a. The interval is computed on logarithms: each side's distance
/// is the root of the summed squares of the medians' distances (method of variance estimates
/// recovery, Zou and Donner, Statistics in Medicine 27, 2008). The runs are assumed to be
/// independent. Empty if a median has no interval, or an interval that reaches zero.
std::optional<Ratio> ratio_of(const Statistics& a, const Statistics& b);

/// Geometric mean of independent ratios, and its 95 % interval by the same method. The interval
/// covers these cells in these runs, not the variation of other runs. Empty for no ratios.
std::optional<Ratio> geometric_mean(const std::vector<Ratio>& ratios);

/// Differences that repeated runs of one binary show and that do not count as a change: at most
/// `relative`, or `absolute_us` if that is more (short kernels).
struct MinimumEffect {
  double relative = 0;
  double absolute_us = 0;

  /// The minimum effect as a share of `time_us`, the time of the cell's faster side.
  double at(double time_us) const;
};

enum class Verdict { same, faster, slower, inconclusive };
std::string_view name_of(Verdict verdict);

/// With e = `effect`: slower if the whole interval is above 1 + e, faster if it is below 1 / (1 +
/// e), same if it is between the two, otherwise inconclusive. NaN is inconclusive.
Verdict verdict_of(const Interval& ratio, double effect);

/// The part of a difference in time that also exists in cycles. The end of the interval nearer to 1
/// moves to the corresponding end of the interval in cycles, at most to 1. `clock_ratio` is the SM
/// clock of B divided by that of A. A GPU at its power limit settles on a different clock in every
/// run, so a run that is slower only in time was measured at a lower clock.
Interval confirmed_in_cycles(const Interval& ratio, double clock_ratio);

/// The interval with its end nearer to 1 moved by `share` towards 1, at most to 1: the part of a
/// difference that such a share does not explain.
Interval beyond(const Interval& ratio, double share);

}  // namespace gpuexp
