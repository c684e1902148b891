#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "results/report.hpp"
#include "results/run_log.hpp"

namespace gpuexp {

struct RunLog {
  /// A row for each cell whose group started, in the order of cells. A cell without a row line,
  /// unless it is skipped, has status not_run and a reason with its number of samples. Complete if
  /// the last event is "complete".
  Report report;
  std::size_t cells = 0;                          ///< number of planned cells
  std::vector<std::size_t> cell_of_row;           ///< cell of each row of the report
  std::map<std::size_t, GroupTimes> group_times;  ///< by the first cell of the group
  RunOrigin origin;
  std::string ended_utc;  ///< time of the last event; "" if the log has no event
};

/// Reads a log and ignores an incomplete last line. Throws ReportError that names file and line.
RunLog read_run_log(const std::string& path);
/// Parses the text of a log; messages name `file`.
RunLog parse_run_log(std::string_view text, const std::string& file);

}  // namespace gpuexp
