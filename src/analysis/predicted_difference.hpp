// Simulated variants compared with their compare_to: counter changes, and the factor between the
// predicted times. A cause requires measured times.
#pragma once

#include <vector>

#include "analysis/explanation.hpp"

namespace gpuexp {

struct PredictedDifference : RowPair {
  explicit PredictedDifference(const RowPair& pair) : RowPair(pair) {}

  double factor = 1;  ///< predicted time of the reference / predicted time of the row
  std::vector<CounterChange> changes;    ///< declared changes that happened
  std::vector<CounterChange> kept;       ///< declared as unchanged and found unchanged
  std::vector<ExpectedChange> not_seen;  ///< declared changes that did not happen

  bool differs() const;
};

/// Differences of the variants whose row and compare_to both have predicted times, in the order of
/// the rows: at all problems, or for each variant at the problem with the longest time.
std::vector<PredictedDifference> predicted_differences_of(const ExperimentResults& experiment,
                                                          bool all_problems);

}  // namespace gpuexp
