// Results before they are laid out for a terminal, Markdown or HTML.
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
  std::string status = {};         ///< status of a row that did not pass; "" if it passed
  std::string note = {};           ///< status and reason, shown instead of numbers
  double bar = 0;                  ///< length, in the unit of ExperimentView::full_bar
  std::string key = {};            ///< key of the result; "" if the row shows none
  bool keeps_numbers = false;      ///< the note follows the numbers
};

/// One experiment as a table. Values that all rows share are facts; other values are in columns.
struct ExperimentView {
  std::string title;               ///< "ladder: matmul"
  std::vector<std::string> facts;  ///< "k = 4096", "cold", "speedup over naive"
  std::vector<ViewColumn> columns;
  std::vector<ViewRow> rows;
  std::size_t first_number = 0;  ///< index of the first column that a row's note replaces
  /// Column for notes, if the table format cannot span columns; if empty, notes get a column of
  /// their own.
  std::optional<std::size_t> note_column;
  /// First of the columns (error, metrics) that may be left out if the table is too wide.
  std::size_t first_metric = std::numeric_limits<std::size_t>::max();
  std::size_t bar_after = 0;  ///< index of the column that the bar follows: the speedup or the rate
  double full_bar = 0;        ///< value of a full bar; 0 if there is no bar
  std::vector<std::string> footnotes;
  std::string headline;  ///< one-line result; "" if there is none
  /// For each counted variant, one paragraph on the difference from its compare_to; for a published
  /// figure, the reasons for its verdicts.
  std::vector<std::string> explanations;
};

struct Page {
  std::vector<std::string> head;            ///< paragraphs before the experiments
  std::vector<ExperimentView> experiments;  ///< then published figures, then the time of the run
  std::string summary;                      ///< the last line
};

}  // namespace gpuexp
