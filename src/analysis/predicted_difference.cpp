#include "analysis/predicted_difference.hpp"

#include <algorithm>

namespace gpuexp {

namespace {

PredictedDifference difference(const RowPair& pair) {
  PredictedDifference d(pair);
  d.factor = *d.reference().predicted_time_us / *d.row().predicted_time_us;
  for (const ExpectedChange& expected : d.row().expected_changes) {
    const auto from = count_of(d.reference(), expected.counter);
    const auto to = count_of(d.row(), expected.counter);
    if (!from || !to) continue;
    if (!matches_expectation(expected, *from, *to)) {
      d.not_seen.push_back(expected);
    } else {
      auto& changes = expected.direction == Direction::unchanged ? d.kept : d.changes;
      changes.push_back({expected.counter, *from, *to});
    }
  }
  return d;
}

}  // namespace

bool PredictedDifference::differs() const {
  constexpr double kMinFactor = 1.02;  // as for measured times
  return std::max(factor, 1 / factor) >= kMinFactor;
}

std::vector<PredictedDifference> predicted_differences_of(const ExperimentResults& experiment,
                                                          bool all_problems) {
  const auto time_of = [](const ResultRecord& row) {
    const bool is_predicted = row.passed() && row.predicted_time_us.value_or(0) > 0;
    return is_predicted ? row.predicted_time_us : std::nullopt;
  };
  std::vector<PredictedDifference> differences;
  for (const RowPair& pair : pairs_of(experiment, all_problems, time_of))
    differences.push_back(difference(pair));
  return differences;
}

}  // namespace gpuexp
