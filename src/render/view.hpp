// What readers see of results, before it is laid out for a terminal, for Markdown or as HTML.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace gpuexp {

struct ViewColumn {
  std::string heading;
  bool is_number = false;  ///< aligned to the right
};

struct ViewRow {
  std::vector<std::string> cells;  ///< one per column
  std::string status = {};         ///< of a row that did not pass; "" when it passed
  std::string note = {};           ///< status and reason of such a row, in place of its numbers
  double bar = 0;                  ///< length, in the unit of ExperimentView::full_bar
  std::string key = {};            ///< of the result that the row shows; "" where it shows none
};

/// One experiment as a table: what is the same in every row stands in the facts, what differs in
/// columns.
struct ExperimentView {
  std::string title;               ///< "ladder: matmul"
  std::vector<std::string> facts;  ///< "k = 4096", "cold", "speed-up over naive"
  std::vector<ViewColumn> columns;
  std::vector<ViewRow> rows;
  std::size_t first_number = 0;  ///< the column where a note takes the place of the numbers
  /// Where a note stands in a table that cannot span columns; a column of its own where empty.
  std::optional<std::size_t> note_column;
  /// Columns from here on may be left out where there is no room: the error and the experiment's
  /// own metrics. Other views have none.
  std::size_t first_metric = std::numeric_limits<std::size_t>::max();
  std::size_t bar_after = 0;  ///< the bar stands behind this column: the speed-up or the rate
  double full_bar = 0;        ///< 0 when there is no bar
  std::vector<std::string> footnotes;
  std::string headline;  ///< one line drawn from the numbers; "" where they allow none
  /// Why variants differ from what they compare to, a paragraph each; none without counters.
  std::vector<std::string> explanations;
};

/// Everything that people see of results.
struct Page {
  std::vector<std::string> head;  ///< paragraphs before the experiments: where the numbers are from
  std::vector<ExperimentView> experiments;  ///< then published figures, and the run's time
  std::string summary;                      ///< the last line
};

}  // namespace gpuexp
