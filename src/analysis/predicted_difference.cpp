#include "analysis/predicted_difference.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "analysis/counter_changes.hpp"

namespace gpuexp {

namespace {

constexpr std::string_view kShared = "shared";

/// Counters that increase with the time of a resource, which bound_by names; active lanes decrease
/// instead. Empty for latency and launches, which no counter measures.
std::vector<std::string_view> counters_of(std::string_view bound_by) {
  if (bound_by == "dram") return {"dram_read_bytes", "dram_write_bytes"};
  if (bound_by == "l2")
    return {"l2_sectors", "global_load_sectors_per_request", "global_store_sectors_per_request"};
  if (bound_by == "l1") return {"l1_tag_wavefronts", "l1_data_wavefronts"};
  if (bound_by == kShared)
    return {"shared_bank_conflicts", "shared_load_wavefronts", "shared_store_wavefronts"};
  if (bound_by == "issue") return {kActiveLanes, "warp_instructions"};
  if (bound_by == "fma") return {"fma_instructions"};
  if (bound_by == "alu") return {"alu_instructions"};
  if (bound_by == "fp64") return {"fp64_instructions"};
  if (bound_by == "xu") return {"xu_instructions"};
  if (bound_by == "tensor") return {"tensor_instructions"};
  return {};
}

std::optional<CounterChange> change_of(const PredictedDifference& d, std::string_view counter) {
  const auto from = count_of(d.reference(), counter);
  const auto to = count_of(d.row(), counter);
  if (!from || !to) return std::nullopt;
  return CounterChange{std::string(counter), *from, *to};
}

void add_declared(PredictedDifference& d) {
  for (const ExpectedChange& expected : d.row().expected_changes) {
    const auto change = change_of(d, expected.counter);
    if (!change) continue;
    if (!matches_expectation(expected, change->from, change->to)) {
      d.not_seen.push_back(expected);
    } else {
      auto& changes = expected.direction == Direction::unchanged ? d.kept : d.changes;
      changes.push_back(*change);
    }
  }
}

void add_amounts(PredictedDifference& d) {
  for (const std::string_view counter : counters_of(d.slower().bound_by)) {
    const auto change = change_of(d, counter);
    const bool is_declared = std::ranges::any_of(
        d.changes, [&](const CounterChange& declared) { return declared.counter == counter; });
    if (change && !is_declared && is_more_in_slower(*change, d.row_is_slower()))
      d.amounts.push_back(*change);
  }
}

void add_conflicts(PredictedDifference& d) {
  constexpr double kMost = 0.5;
  constexpr double kPercent = 100;
  if (d.slower().bound_by != kShared) return;
  const auto conflicts = change_of(d, kBankConflicts);
  const auto wavefronts = change_of(d, "l1_data_wavefronts");
  if (!conflicts || !wavefronts || wavefronts->from <= 0 || wavefronts->to <= 0) return;
  if (!is_more_in_slower(*conflicts, d.row_is_slower())) return;
  const double of_conflicts = conflicts->to - conflicts->from;
  const double of_all = wavefronts->to - wavefronts->from;
  if (std::abs(of_conflicts) < kMost * std::abs(of_all)) return;
  d.conflicts_pct =
      CounterChange{std::string(kBankConflicts), kPercent * conflicts->from / wavefronts->from,
                    kPercent * conflicts->to / wavefronts->to};
}

PredictedDifference difference(const RowPair& pair) {
  PredictedDifference d(pair);
  d.factor = *d.reference().predicted_time_us / *d.row().predicted_time_us;
  add_declared(d);
  if (d.differs()) {
    add_amounts(d);
    add_conflicts(d);
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
