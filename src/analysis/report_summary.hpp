#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/results.hpp"

namespace gpuexp {

/// Number of rows by status, in order of first appearance. Rows without a status are "no status".
std::vector<std::pair<std::string, std::size_t>> status_counts(const RecordTable& table);

/// Number of passed rows by flag, the most frequent flag first.
std::vector<std::pair<std::string, std::size_t>> flag_counts(const RecordTable& table);

/// The GPU's readings while rows were timed; empty if unknown.
struct ReadConditions {
  std::optional<double> lowest_sm_clock_mhz;
  std::optional<double> highest_sm_clock_mhz;
  std::optional<double> highest_power_w;
};
ReadConditions conditions_of(const RecordTable& table);

}  // namespace gpuexp
