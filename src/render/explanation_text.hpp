// Explanations in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/explanation.hpp"
#include "analysis/predicted_difference.hpp"

namespace gpuexp {

/// A paragraph of it.
std::string text_of(const ExperimentResults& experiment, const Explanation& explanation);

/// "coalesced is predicted to be 16× as fast as naive: 2.5 sectors per load request instead
/// of 16.5."
std::string text_of(const ExperimentResults& experiment, const PredictedDifference& difference);

/// A counter's value as explanations have it: "1.07 GB", "99 %"; sectors are counted.
std::string counter_fragment(std::string_view counter, double value);

/// "4 sectors per load request instead of 32".
std::string change_fragment(const CounterChange& change);

/// "36 comparisons: 20 explained with high confidence, 9 not explained, 7 without a difference".
std::string summary_of(const std::vector<Explanation>& explanations);

}  // namespace gpuexp
