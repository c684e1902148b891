// One line per experiment that says what its numbers say.
#pragma once

#include <string>

#include "report/results.hpp"

namespace gpuexp {

/// A comparison of variants at the largest problem, or the extremes of a sweep: whichever varies
/// more. Nothing is said that the intervals of the medians leave open. "" where the numbers allow
/// no reading.
std::string reading_of(const ExperimentResults& experiment);

}  // namespace gpuexp
