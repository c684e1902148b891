// One line per experiment that says what its numbers say, and nothing that the intervals of the
// medians leave open.
#pragma once

#include <string>

#include "results/results.hpp"

namespace gpuexp {

/// Variants compared at one problem, or the extremes of a sweep: whichever the experiment has more
/// of. "" where the numbers allow no headline.
std::string headline_of(const ExperimentResults& experiment);

}  // namespace gpuexp
