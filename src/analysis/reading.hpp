// One line per experiment that says what its numbers say, and nothing that the intervals of the
// medians leave open.
#pragma once

#include <string>

#include "results/results.hpp"

namespace gpuexp {

/// Variants compared at one problem, or the extremes of a sweep: whichever the experiment has more
/// of. "" where the numbers allow no reading.
std::string reading_of(const ExperimentResults& experiment);

// The parts of it; each is "" where it does not apply.

/// The fastest variant, or the slowest, against the baseline and the vendor's library, at the
/// largest problem that has both.
std::string comparison_reading(const ExperimentResults& experiment);

/// The numeric parameter with the most values, two at least; null without one.
const ResultAxis* swept_axis(const ExperimentResults& experiment);

/// Where throughput falls most from one value of the swept parameter to the next, and its range.
std::string sweep_reading(const ExperimentResults& experiment);

/// The time of the largest problem.
std::string single_reading(const ExperimentResults& experiment);

}  // namespace gpuexp
