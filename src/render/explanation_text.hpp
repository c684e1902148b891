#pragma once

#include <string>
#include <vector>

#include "analysis/explanation.hpp"
#include "analysis/predicted_difference.hpp"
#include "render/counter_text.hpp"

namespace gpuexp {

std::string text_of(const ExperimentResults& experiment, const Explanation& explanation);

/// "coalesced is predicted to be 16× as fast as naive: 2.5 sectors per load request instead
/// of 16.5."
std::string text_of(const ExperimentResults& experiment, const PredictedDifference& difference);

/// "36 comparisons: 20 explained with high confidence, 9 not explained, 7 without a difference".
std::string summary_of(const std::vector<Explanation>& explanations);

}  // namespace gpuexp
