// What a whole report comes to: how many rows of each status and flag, how far predictions are off,
// and each experiment's largest speed-up.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/results.hpp"

namespace gpuexp {

/// In the order in which they first appear; rows without a status are "no status".
std::vector<std::pair<std::string, std::size_t>> status_counts(const RecordTable& table);

/// Rows that passed with the flag, the most frequent first.
std::vector<std::pair<std::string, std::size_t>> flag_counts(const RecordTable& table);

/// How far predicted times are from measured ones, whichever is the longer.
struct PredictionErrors {
  std::size_t rows = 0;
  double median_pct = 0;
  std::size_t within_10_pct = 0;
  std::size_t within_25_pct = 0;
};
/// Empty where no row has both.
std::optional<PredictionErrors> prediction_errors(const std::vector<RecordRef>& rows);

/// The row with the largest speed-up that is worth the name, 2 % or more; null where there is none.
/// Rows that are faster than their limit are no record.
const ResultRecord* largest_speedup(const ExperimentResults& experiment);

/// What was read of the GPU while rows were timed; empty where nothing was.
struct ReadConditions {
  std::optional<double> lowest_sm_clock_mhz;
  std::optional<double> highest_sm_clock_mhz;
  std::optional<double> highest_power_w;
  std::optional<double> highest_temperature_c;
};
ReadConditions conditions_of(const RecordTable& table);

std::size_t passed_rows(const ExperimentResults& experiment);

}  // namespace gpuexp
