// Reading the log of a run.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "results/report.hpp"
#include "results/run_log.hpp"

namespace gpuexp {

/// A log as it was left.
struct RunLog {
  /// A row for each cell whose group started, in the order of cells. One that has no row of its own
  /// is not_run, and its reason tells of the samples that it got. Complete when the run said so.
  Report report;
  std::size_t cells = 0;                          ///< of the plan
  std::vector<std::size_t> cell_of_row;           ///< of each row of the report
  std::map<std::size_t, GroupTimes> group_times;  ///< of the report, by a group's first cell
  RunOrigin origin;
  std::string ended_utc;  ///< of its last event; "" where it has none
};

/// Reads a log; a last line that is not whole is left out. Throws ReportError naming file and line.
RunLog read_run_log(const std::string& path);
/// The same from text; `file` is for messages.
RunLog parse_run_log(std::string_view text, const std::string& file);

}  // namespace gpuexp
