#include "analysis/row_statistics.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

namespace gpuexp {

RowStatistics statistics_of(const Report& report, std::size_t row, const std::string& which) {
  constexpr std::size_t kFewest = 6;  // for an interval of the median
  static const std::vector<double> kNone;
  const auto& samples = row < report.samples_us.size() ? report.samples_us[row] : kNone;
  if (samples.empty()) return {{}, fmt::format("no samples in {}", which)};
  const double resolution_us = report.table.rows[row].timer_resolution_us.value_or(0);
  try {
    RowStatistics of_row{summarize(samples, std::max(resolution_us, 0.0)), ""};
    if (samples.size() < kFewest) {
      of_row.problem = fmt::format("{} {} in {}, {} are needed", samples.size(),
                                   samples.size() == 1 ? "sample" : "samples", which, kFewest);
    } else if (!(of_row.statistics->median_ci95->low > 0)) {
      of_row.problem = fmt::format("times in {} are not above a tick of the clock", which);
    }
    return of_row;
  } catch (const std::invalid_argument& e) {
    return {{}, fmt::format("{} in {}", e.what(), which)};
  }
}

}  // namespace gpuexp
