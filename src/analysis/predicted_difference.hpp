// Simulated variants compared with their compare_to: counter changes, and the factor between the
// predicted times. The cost of the slower variant is the prediction's, not a measured cause.
#pragma once

#include <optional>
#include <vector>

#include "analysis/explanation.hpp"

namespace gpuexp {

struct PredictedDifference : RowPair {
  explicit PredictedDifference(const RowPair& pair) : RowPair(pair) {}

  double factor = 1;  ///< predicted time of the reference / predicted time of the row
  std::vector<CounterChange> changes;    ///< declared changes that happened
  std::vector<CounterChange> kept;       ///< declared as unchanged and found unchanged
  std::vector<ExpectedChange> not_seen;  ///< declared changes that did not happen
  /// If the times differ: counters of the resource that bounds the slower variant in the
  /// prediction, without those in `changes`, if they are larger in the slower variant.
  std::vector<CounterChange> amounts;
  /// Bank conflicts as a share of the wavefronts in L1's data stage, if the prediction has the
  /// slower variant bound by shared memory, and most of its additional wavefronts are conflicts.
  std::optional<CounterChange> conflicts_pct;

  bool differs() const;
  bool row_is_slower() const { return factor < 1; }
  const ResultRecord& slower() const { return row_is_slower() ? row() : reference(); }
};

/// Differences of the variants whose row and compare_to both have predicted times, in the order of
/// the rows: at all problems, or for each variant at the problem with the longest time.
std::vector<PredictedDifference> predicted_differences_of(const ExperimentResults& experiment,
                                                          bool all_problems);

}  // namespace gpuexp
