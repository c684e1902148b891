// One-line result of an experiment, with only the differences that the intervals of the medians
// resolve.
#pragma once

#include <string>
#include <vector>

#include "results/results.hpp"

namespace gpuexp {

/// Compares variants at one problem, or describes a sweep, whichever has more values in the
/// experiment. "" if the numbers allow no headline.
std::string headline_of(const ExperimentResults& experiment);

/// The fastest or the slowest variant compared with the baseline and the vendor's library, at the
/// largest problem that has both.
std::string comparison_headline(const ExperimentResults& experiment);

/// The time of the largest problem.
std::string single_headline(const ExperimentResults& experiment);

/// Neighbouring points of a curve whose values differ by at most 5 %.
struct Plateau {
  std::size_t first;  ///< index of a point
  std::size_t last;
};

/// Non-overlapping plateaus of at least two points, each of maximum length, of values in the order
/// of the swept parameter. The last point of a plateau that is followed by points is a knee.
std::vector<Plateau> plateaus_of(const std::vector<double>& values);

/// Cycles per step (metric kStepCyclesMetric) on each plateau of each variant, and the knees. ""
/// without that metric or without a sweep.
std::string latency_headline(const ExperimentResults& experiment);

/// The numeric parameter with the most values, at least two; null if there is none.
const ResultAxis* swept_axis(const ExperimentResults& experiment);

/// The largest drop of throughput between neighbouring values of the swept parameter, else its
/// range.
std::string sweep_headline(const ExperimentResults& experiment);

}  // namespace gpuexp
