// Builder of tables by columns, for views of experiments and tables of lessons.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "render/view.hpp"
#include "results/results.hpp"

namespace gpuexp {

/// Position of the unit in a column of times.
enum class TimeUnits { cells, heading };

/// Builds a view with one row for each row of the experiment, which must outlive this object.
class ViewColumns {
 public:
  using Cell = std::function<std::string(const ResultRecord&)>;

  explicit ViewColumns(const ExperimentResults& experiment) : e_(experiment) {
    for (const ResultRecord& row : e_.rows)
      view_.rows.emplace_back().key = printable(row.key);
  }

  void add(const std::string& heading, bool is_number, const Cell& cell);
  /// The column's numbers in passed rows; adds no column if there are none.
  void add_numbers(const ColumnHandle& column, const std::string& heading);
  /// The median and, if any row has an interval, half its width in percent.
  void add_times(TimeUnits units = TimeUnits::cells);
  void add_predicted_times(TimeUnits units);
  /// The rate in the unit of the limiting resource: bytes for DRAM, operations for a pipe.
  void add_rates();
  /// Flags as letters with footnotes; adds no column if no row has a flag.
  void add_flags();
  /// The error relative to fp64, if it differs by orders of magnitude between rows.
  void add_error();
  /// Status and reason of rows that did not pass.
  void add_notes();

  ExperimentView take() { return std::move(view_); }

 protected:
  const ExperimentResults& experiment() const { return e_; }
  ExperimentView& view() { return view_; }

  std::vector<double> numbers_of(const ColumnHandle& column) const;
  /// Adds a bar of this column's values after the last column.
  void add_bar(const ColumnHandle& column);

 private:
  void add_rate(const ColumnHandle& column, const std::string& heading);
  using Time = std::function<std::optional<double>(const ResultRecord&)>;
  void add_time_column(const std::string& heading, TimeUnits units, const Time& time_us);

  const ExperimentResults& e_;
  ExperimentView view_;
};

}  // namespace gpuexp
