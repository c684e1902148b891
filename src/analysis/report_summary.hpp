// What a whole report comes to: rows of each status and flag, and the GPU's conditions meanwhile.
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

/// What was read of the GPU while rows were timed; empty where nothing was.
struct ReadConditions {
  std::optional<double> lowest_sm_clock_mhz;
  std::optional<double> highest_sm_clock_mhz;
  std::optional<double> highest_power_w;
};
ReadConditions conditions_of(const RecordTable& table);

}  // namespace gpuexp
