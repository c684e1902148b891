// Headlines of variants against each other at one problem; "" where the numbers allow none.
#pragma once

#include <string>

#include "results/results.hpp"

namespace gpuexp {

/// The fastest variant, or the slowest, against the baseline and the vendor's library, at the
/// largest problem that has both.
std::string comparison_headline(const ExperimentResults& experiment);

/// The time of the largest problem.
std::string single_headline(const ExperimentResults& experiment);

}  // namespace gpuexp
