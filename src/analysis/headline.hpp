// One line per experiment that says what its numbers say, and nothing that the intervals of the
// medians leave open.
#pragma once

#include <string>
#include <vector>

#include "results/results.hpp"

namespace gpuexp {

/// Variants compared at one problem, or the extremes of a sweep: whichever the experiment has more
/// of. "" where the numbers allow no headline.
std::string headline_of(const ExperimentResults& experiment);

/// The fastest variant, or the slowest, against the baseline and the vendor's library, at the
/// largest problem that has both.
std::string comparison_headline(const ExperimentResults& experiment);

/// The time of the largest problem.
std::string single_headline(const ExperimentResults& experiment);

/// Neighbouring points of a curve whose values differ by 5 % at most.
struct Plateau {
  std::size_t first;  ///< place of a point
  std::size_t last;
};

/// Of values in the order of what is swept: runs of two points or more, none overlapping, each as
/// long as it can be. The last point of one that others follow is a knee.
std::vector<Plateau> plateaus_of(const std::vector<double>& values);

/// What a step takes on each plateau of each variant (Family's metric kStepCyclesMetric), and where
/// a knee is; "" for experiments without that metric, or that sweep nothing.
std::string latency_headline(const ExperimentResults& experiment);

/// The numeric parameter with the most values, two at least; null without one.
const ResultAxis* swept_axis(const ExperimentResults& experiment);

/// Where throughput falls most from one value of the swept parameter to the next, and its range.
std::string sweep_headline(const ExperimentResults& experiment);

}  // namespace gpuexp
