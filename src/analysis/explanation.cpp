#include "analysis/explanation.hpp"

#include "analysis/bounds.hpp"
#include "analysis/causes.hpp"
#include "analysis/counter_changes.hpp"

namespace gpuexp {

namespace {

constexpr double kMinDifference = 1.02;  // repeated runs of one program differ by less

std::optional<double> predicted_factor(const ResultRecord& reference, const ResultRecord& row) {
  const auto from_us = reference.predicted_time_us;
  const auto to_us = row.predicted_time_us;
  if (!from_us || !to_us || *from_us <= 0 || *to_us <= 0) return std::nullopt;
  return *from_us / *to_us;
}

Launched launched_by(const ResultRecord& row, const DeviceRates& rates) {
  const double fills = fills_of(row, rates);
  return {kernels_of(row, rates) - fills, fills};
}

}  // namespace

Explanation explain(const ResultRecord& reference, const ResultRecord& row,
                    const DeviceRates& rates) {
  Explanation e(reference, row);
  e.factor = *reference.time_us() / *row.time_us();
  e.ratio = ratio_of(row, reference);
  e.predicted = predicted_factor(reference, row);
  e.differs = (clearly_faster(row, reference) || clearly_faster(reference, row)) &&
              factor_between(e.factor, 1) >= kMinDifference;
  e.counted = is_counted(reference) && is_counted(row);
  if (!e.counted) return e;
  e.reference_launched = launched_by(reference, rates);
  e.launched = launched_by(row, rates);
  add_bounds(e, rates);
  find_cause(e, rates);
  add_changes(e);
  return e;
}

std::vector<Explanation> explanations_of(const ExperimentResults& experiment,
                                         const ExplanationOptions& options) {
  const auto time_of = [](const ResultRecord& row) {
    return row.is_above_limit() ? std::nullopt : row.time_us();
  };
  std::vector<Explanation> explanations;
  for (const RowPair& pair : pairs_of(experiment, options.all_problems, time_of))
    explanations.push_back(explain(pair.reference(), pair.row(), options.rates));
  return explanations;
}

}  // namespace gpuexp
