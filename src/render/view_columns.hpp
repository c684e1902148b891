// Builds tables column by column, for views of experiments and tables of lessons.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "render/view.hpp"
#include "results/results.hpp"

namespace gpuexp {

enum class TimeUnits { cells, heading };

/// Builds a view with one row per row of the experiment, which must outlive this object.
class ViewColumns {
 public:
  using Cell = std::function<std::string(const ResultRecord&)>;

  explicit ViewColumns(const ExperimentResults& experiment) : e_(experiment) {
    for (const ResultRecord& row : e_.rows)
      view_.rows.emplace_back().key = printable(row.key);
  }

  void add(const std::string& heading, bool is_number, const Cell& cell);
  /// Adds no column if all cells are empty.
  void add_any(const std::string& heading, bool is_number, const Cell& cell);
  /// The column's numbers in passed rows. Adds no column if there are none.
  void add_numbers(const ColumnHandle& column, const std::string& heading);
  /// The median time and, if any row has an interval, half the interval's width in percent.
  void add_times(TimeUnits units = TimeUnits::cells);
  void add_predicted_times(TimeUnits units);
  /// The rates in the units of the limiting resources: bytes for DRAM, operations for pipes.
  void add_rates();
  /// Flags as letters that footnotes explain. Adds no column if no row has a flag.
  void add_flags();
  /// Only flags that simulated rows can have: those of the verification.
  void add_verification_flags();
  /// The error relative to the fp64 reference, if rows differ by more than a factor of 10.
  void add_error();
  /// Status and reason of rows that did not pass.
  void add_notes();

  ExperimentView take() { return std::move(view_); }

 protected:
  const ExperimentResults& experiment() const { return e_; }
  ExperimentView& view() { return view_; }

  std::vector<double> numbers_of(const ColumnHandle& column) const;
  /// Adds a bar with this column's values after the last column. Replaces an earlier column's bar.
  void add_bar(const ColumnHandle& column);

 private:
  void add_rate(const ColumnHandle& column, const std::string& heading);
  void add_marks(const std::function<bool(const std::string& flag)>& shows);
  using Time = std::function<std::optional<double>(const ResultRecord&)>;
  void add_time_column(const std::string& heading, TimeUnits units, const Time& time_us);

  const ExperimentResults& e_;
  ExperimentView view_;
};

}  // namespace gpuexp
