// One-line result of an experiment. It names only differences that the intervals of the medians
// resolve.
#pragma once

#include <string>
#include <vector>

#include "results/results.hpp"

namespace gpuexp {

/// Describes latencies if the rows have kStepCyclesMetric; else a sweep, if its parameter has at
/// least five values and more values than there are variants; else compares the variants at one
/// problem. A sweep of several variants is followed by their comparison. "" if the rows allow no
/// headline.
std::string headline_of(const ExperimentResults& experiment);

/// The fastest and the slowest variant, compared with the baseline and the vendor's library if
/// there are any, at the largest problem with two timed variants (one of them the baseline, if
/// there is one).
std::string comparison_headline(const ExperimentResults& experiment);

/// The time of the fastest variant at the largest problem; for experiments that compare nothing.
std::string single_headline(const ExperimentResults& experiment);

/// Consecutive points of a curve whose values differ by at most 5 %.
struct Plateau {
  std::size_t first;  ///< index of a point
  std::size_t last;
};

/// Plateaus of at least two points, each extended as far as possible before the next begins.
/// `values` are in the order of the swept parameter. If a plateau ends before the curve, its last
/// point is a knee.
std::vector<Plateau> plateaus_of(const std::vector<double>& values);

/// Cycles per step (metric kStepCyclesMetric) on each plateau of each variant, and the knees. "" if
/// there is no such metric or no sweep.
std::string latency_headline(const ExperimentResults& experiment);

/// The numeric parameter with the most values; null if no numeric parameter has two values.
const ResultAxis* swept_axis(const ExperimentResults& experiment);

/// The largest drop of throughput between consecutive values of the swept parameter; if no drop is
/// at least 5 %, the range of throughput.
std::string sweep_headline(const ExperimentResults& experiment);

}  // namespace gpuexp
