// The table of a view, column by column: what an experiment's view and a lesson's tables share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "render/view.hpp"
#include "results/results.hpp"

namespace gpuexp {

/// Where a column of times has its unit.
enum class TimeUnits { cells, heading };

/// Builds a view that has one row for each row of the experiment, which outlives this.
class ViewColumns {
 public:
  using Cell = std::function<std::string(const ResultRecord&)>;

  explicit ViewColumns(const ExperimentResults& experiment) : e_(experiment) {
    for (const ResultRecord& row : e_.rows)
      view_.rows.emplace_back().key = printable(row.key);
  }

  void add(const std::string& heading, bool is_number, const Cell& cell);
  /// The column's numbers in passed rows; no column where none has any.
  void add_numbers(const ColumnHandle& column, const std::string& heading);
  /// The median and, where any row has an interval, half of it in percent.
  void add_times(TimeUnits units = TimeUnits::cells);
  void add_predicted_times(TimeUnits units);
  /// The rate in the unit of what limits: bytes for DRAM, operations for a pipe.
  void add_rates();
  /// Flags as letters, each explained in a footnote; no column where no row has any.
  void add_flags();
  /// The error against fp64, where it is news: of another order in some rows than in others.
  void add_error();
  /// Status and reason of rows that did not pass.
  void add_notes();

  ExperimentView take() { return std::move(view_); }

 protected:
  const ExperimentResults& experiment() const { return e_; }
  ExperimentView& view() { return view_; }

  std::vector<double> numbers_of(const ColumnHandle& column) const;
  /// The bar stands for this column, behind the one that was added last.
  void add_bar(const ColumnHandle& column);

 private:
  void add_rate(const ColumnHandle& column, const std::string& heading);
  using Time = std::function<std::optional<double>(const ResultRecord&)>;
  void add_time_column(const std::string& heading, TimeUnits units, const Time& time_us);

  const ExperimentResults& e_;
  ExperimentView view_;
};

}  // namespace gpuexp
