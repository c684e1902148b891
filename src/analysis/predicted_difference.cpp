#include "analysis/predicted_difference.hpp"

#include <algorithm>
#include <map>

namespace gpuexp {

namespace {

bool is_predicted(const ResultRecord& row) {
  return row.passed() && row.predicted_time_us && *row.predicted_time_us > 0;
}

PredictedDifference difference(const ResultRecord& reference, const ResultRecord& row) {
  PredictedDifference d{&reference, &row, *reference.predicted_time_us / *row.predicted_time_us,
                        {},         {},   {}};
  for (const ExpectedChange& expected : row.expected_changes) {
    const auto from = count_of(reference, expected.counter);
    const auto to = count_of(row, expected.counter);
    if (!from || !to) continue;
    if (!happened(expected, *from, *to)) {
      d.not_seen.push_back(expected);
    } else {
      auto& changes = expected.direction == Direction::unchanged ? d.kept : d.changes;
      changes.push_back({expected.counter, *from, *to});
    }
  }
  return d;
}

double slower_us(const PredictedDifference& d) {
  return std::max(*d.reference->predicted_time_us, *d.row->predicted_time_us);
}

}  // namespace

bool PredictedDifference::differs() const {
  constexpr double kLeastFactor = 1.02;  // as of measured times
  return std::max(factor, 1 / factor) >= kLeastFactor;
}

std::vector<PredictedDifference> predicted_differences_of(const ExperimentResults& experiment,
                                                          bool all_problems) {
  const auto key = [&](const std::string& variant, const ResultRecord& row) {
    return variant + '\0' + row.family + '\0' + group_of(experiment, row);
  };
  std::map<std::string, const ResultRecord*> predicted;
  for (const ResultRecord& row : experiment.rows) {
    if (is_predicted(row)) predicted.emplace(key(row.variant, row), &row);
  }
  std::vector<PredictedDifference> all;
  for (const ResultRecord& row : experiment.rows) {
    if (row.compare_to.empty() || !is_predicted(row)) continue;
    const auto reference = predicted.find(key(row.compare_to, row));
    if (reference == predicted.end()) continue;
    PredictedDifference d = difference(*reference->second, row);
    const auto same = std::find_if(all.begin(), all.end(), [&](const PredictedDifference& other) {
      return !all_problems && other.row->variant == row.variant;
    });
    if (same == all.end()) {
      all.push_back(std::move(d));
    } else if (slower_us(d) > slower_us(*same)) {
      *same = std::move(d);
    }
  }
  return all;
}

}  // namespace gpuexp
