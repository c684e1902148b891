// Headlines of latencies over a swept working set: plateaus, and the knees between them.
#pragma once

#include <string>
#include <vector>

#include "results/results.hpp"

namespace gpuexp {

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

}  // namespace gpuexp
