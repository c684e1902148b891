// Headlines of one numeric parameter swept; "" where the numbers allow none.
#pragma once

#include <string>

#include "results/results.hpp"

namespace gpuexp {

/// The numeric parameter with the most values, two at least; null without one.
const ResultAxis* swept_axis(const ExperimentResults& experiment);

/// Where throughput falls most from one value of the swept parameter to the next, and its range.
std::string sweep_headline(const ExperimentResults& experiment);

}  // namespace gpuexp
