// Statistics of a row's samples, where they allow a comparison.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "results/report.hpp"
#include "stats/statistics.hpp"

namespace gpuexp {

struct RowStatistics {
  std::optional<Statistics> statistics;
  std::string problem;  ///< why they cannot be compared, such as too few samples; "" where they can
};

/// Of a row of the report. `which` names the report in what is said of it.
RowStatistics statistics_of(const Report& report, std::size_t row, const std::string& which);

}  // namespace gpuexp
