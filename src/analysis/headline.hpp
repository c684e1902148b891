// One-line result of an experiment. It names only differences that the intervals of the medians
// resolve.
#pragma once

#include <string>
#include <vector>

#include "results/results.hpp"

namespace gpuexp {

/// Compares variants at one problem, or describes a sweep, depending on whether the variants or the
/// swept parameter have more values. "" if the rows allow no headline.
std::string headline_of(const ExperimentResults& experiment);

/// The fastest or the slowest variant compared with the baseline and the vendor's library, at the
/// largest problem that all of them ran.
std::string comparison_headline(const ExperimentResults& experiment);

/// The time at the largest problem, for a single variant.
std::string single_headline(const ExperimentResults& experiment);

/// Consecutive points of a curve whose values differ by at most 5 %.
struct Plateau {
  std::size_t first;  ///< index of a point
  std::size_t last;
};

/// Plateaus of maximum length, with at least two points, that do not overlap. `values` are in the
/// order of the swept parameter. The last point of a plateau that is not the last of the curve is a
/// knee.
std::vector<Plateau> plateaus_of(const std::vector<double>& values);

/// Cycles per step (metric kStepCyclesMetric) on each plateau of each variant, and the knees. "" if
/// there is no such metric or no sweep.
std::string latency_headline(const ExperimentResults& experiment);

/// The numeric parameter with the most values; null if no parameter has two values.
const ResultAxis* swept_axis(const ExperimentResults& experiment);

/// The largest drop of throughput between consecutive values of the swept parameter; without a
/// drop, the range of throughput.
std::string sweep_headline(const ExperimentResults& experiment);

}  // namespace gpuexp
