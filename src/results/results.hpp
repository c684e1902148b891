// Results by experiment, read from a table by column name. Every question has an answer for every
// table: what a column does not say is empty.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/table.hpp"
#include "stats/ratio.hpp"

namespace gpuexp {

/// A table whose columns are found by name without a search: readings ask for many.
class ResultTable {
 public:
  /// The table outlives this and does not change.
  explicit ResultTable(const Table& table);

  /// Null where the row has no such column.
  const Field* field(std::size_t row, std::string_view column) const;
  const std::vector<ColumnInfo>& columns() const { return table_->columns; }

 private:
  const Table* table_;
  std::unordered_map<std::string_view, std::size_t> columns_;
};

class ResultRow {
 public:
  ResultRow(const ResultTable& table, std::size_t index) : table_(&table), index_(index) {}

  /// The finite number in the column; empty where there is none.
  std::optional<double> number(std::string_view column) const;
  /// The field itself; missing where the table has no such column.
  Field field(std::string_view column) const;
  /// The field as a reader would write it; "" where it is missing.
  std::string text(std::string_view column) const;

  std::string variant() const { return text("variant"); }
  bool passed() const;
  /// Faster than its datasheet limit allows, which is no record but a mistake somewhere.
  bool is_above_limit() const;
  /// Median time of a passed row.
  std::optional<double> time_us() const;
  /// Half the 95 % interval of the median.
  std::optional<double> half_interval_us() const;

  /// The same row of the same table.
  bool operator==(const ResultRow&) const = default;

 private:
  const Field* find(std::string_view column) const { return table_->field(index_, column); }

  const ResultTable* table_;
  std::size_t index_;
};

/// The interval of a's median ends below where b's begins. Where samples are too few for an
/// interval, their 95th percentile and their least stand for its ends; medians do where those are
/// missing.
bool clearly_faster(const ResultRow& a, const ResultRow& b);

/// Time of `slow` over that of `fast`, and its 95 % interval; empty where one of them has none.
std::optional<Ratio> ratio_of(const ResultRow& fast, const ResultRow& slow);

/// A parameter of an experiment, or several that agree in every row.
struct ResultAxis {
  std::string label;   ///< "n", or "m = n = k" for sizes swept together
  std::string column;  ///< where its value is
  std::string unit;
  bool varies = false;
  bool numeric = false;
};

struct ExperimentResults {
  std::string name;
  std::shared_ptr<const ResultTable> table;  ///< that the rows are of
  std::vector<ResultRow> rows;
  std::vector<ResultAxis> axes;         ///< in the order of the table's columns
  std::vector<std::string> parameters;  ///< columns of parameters that any row has
  std::vector<std::string> metrics;     ///< columns of metrics that differ between passed rows

  /// The values of the column in the order in which they first appear, without missing ones.
  std::vector<std::string> values(std::string_view column) const;
  /// The one value that all rows which have any share; "" when there are several or none.
  std::string constant(std::string_view column) const;
};

/// Rows of one table under one name. What is in `axes` and `metrics` follows from these rows alone.
ExperimentResults experiment_of(std::string name, std::shared_ptr<const ResultTable> table,
                                std::vector<ResultRow> rows);

/// In the order in which experiments first appear. The table outlives them.
std::vector<ExperimentResults> experiments_of(const Table& table);

/// "m = n = k = 4096, cold": what distinguishes the row's group from others of the experiment; ""
/// when nothing does.
std::string place_of(const ExperimentResults& experiment, const ResultRow& row);

/// Equal for rows that share all parameters and the mode.
std::string group_of(const ExperimentResults& experiment, const ResultRow& row);

}  // namespace gpuexp
