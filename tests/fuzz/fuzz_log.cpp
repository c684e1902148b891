#include <algorithm>
#include <functional>
#include <optional>
#include <string>

#include "fuzz/promises.hpp"
#include "results/run_log.hpp"
#include "results/run_log_read.hpp"
#include "results/run_merge.hpp"

namespace gpuexp::fuzz {

namespace {

std::optional<RunLog> log_of(std::string_view text) {
  try {
    return parse_run_log(text, kRunLogName);
  } catch (const ReportError& e) {
    check_message(e, kRunLogName);
  }
  return std::nullopt;
}

void check_rows(const RunLog& log) {
  const std::vector<std::size_t>& cells = log.cell_of_row;
  require(cells.size() == log.report.table.rows.size(), "every row has a cell");
  require(cells.size() == log.report.samples_us.size(), "every row has samples, if none");
  require(cells.empty() || cells.back() < log.cells, "a cell is one of the plan");
  const auto out_of_order = std::adjacent_find(cells.begin(), cells.end(), std::greater_equal<>());
  require(out_of_order == cells.end(), "a cell has one row, and rows are in order");
}

// A shard that is given twice is merged once, with all its rows.
void check_merge(const RunLog& log) {
  try {
    const MergedRuns merged = merge_runs({{"a", log}, {"b", log}});
    require(merged.report.table.rows.size() == log.report.table.rows.size(), "no row is lost");
    require(merged.report.samples_us.size() == log.report.samples_us.size(), "nor its samples");
    check_sinks(merged.report);
  } catch (const ReportError& e) {
    check_message(e, "a");
  }
}

}  // namespace

void fuzz_log(std::string_view text) {
  const auto log = log_of(text);
  if (!log) return;
  check_rows(*log);
  check_sinks(log->report);
  check_merge(*log);
  // A resumed run finds the rows of its cells by their status.
  require(log->report.table.has(&ResultRecord::status), "a log has the status of each cell");
}

}  // namespace gpuexp::fuzz
