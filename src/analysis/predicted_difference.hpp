// Simulated variants against those that they compare to: what was counted, beside the factor
// between their predicted times. No time was measured, so that nothing can be accounted for.
#pragma once

#include <vector>

#include "analysis/explanation.hpp"

namespace gpuexp {

struct PredictedDifference : RowPair {
  explicit PredictedDifference(const RowPair& pair) : RowPair(pair) {}

  double factor = 1;                     ///< predicted time of the reference over that of the row
  std::vector<CounterChange> changes;    ///< declared to change, and did
  std::vector<CounterChange> kept;       ///< declared to stay, and did
  std::vector<ExpectedChange> not_seen;  ///< declared, and counted otherwise

  bool differs() const;
};

/// For each variant that has a predicted time beside its compare_to, in the order of the rows; of
/// each the problem that takes longest, or all of them.
std::vector<PredictedDifference> predicted_differences_of(const ExperimentResults& experiment,
                                                          bool all_problems);

}  // namespace gpuexp
