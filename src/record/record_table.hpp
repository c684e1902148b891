// Records and the columns that they are written in.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/table.hpp"
#include "record/fixed_columns.hpp"
#include "record/result_record.hpp"

namespace gpuexp {

inline const std::string kParameterPrefix = "param.";
inline const std::string kMetricPrefix = "metric.";
inline const std::string kCounterPrefix = "counter.";

using NamedGroup = NamedValues ResultRecord::*;

/// A column as analyses and views refer to it: a fixed one, or a name in one of a record's groups.
struct ColumnHandle {
  const FixedColumn* fixed = nullptr;
  NamedGroup group = nullptr;  ///< of what is not fixed
  std::string name;            ///< in the group, without its prefix; of a fixed one its own

  Field field(const ResultRecord& record) const;
  /// The finite number; empty where there is none.
  std::optional<double> number(const ResultRecord& record) const;
  /// The value as a reader would write it; "" where it is missing.
  std::string text(const ResultRecord& record) const;

  bool operator==(const ColumnHandle&) const = default;
};

ColumnHandle column_of(const RecordMember& member);
ColumnHandle metric_column(std::string name);
/// By its name in a file: "time_median_us", "param.n", or one that this program does not know.
ColumnHandle column_named(const std::string& name);

/// A column as a file has it: unit and doc may be those of another version.
struct RecordColumn : ColumnInfo {
  ColumnHandle handle;
  std::size_t place = 0;  ///< of the handle's name in its group, in records of this table

  bool operator==(const RecordColumn&) const = default;
};

struct RecordTable {
  RecordTable() = default;
  /// Without rows. Throws ReportError where a fixed column is of another type than declared.
  explicit RecordTable(const std::vector<ColumnInfo>& infos);

  std::vector<RecordColumn> columns;
  std::vector<ResultRecord> rows;

  bool has(const RecordMember& member) const;
  /// A record with the names that this table's columns have.
  ResultRecord blank_record() const;

  bool operator==(const RecordTable& other) const {
    return columns == other.columns && rows == other.rows;
  }

 private:
  /// Names of parameters, metrics, counters and others, shared by the rows.
  std::shared_ptr<const NameList> parameters_, metrics_, counters_, others_;
};

/// The record's value in a column of its table.
Field field_of(const RecordColumn& column, const ResultRecord& record);
/// One field per column.
std::vector<Field> fields_of(const std::vector<RecordColumn>& columns, const ResultRecord& record);
/// Fills in the value. False where the column does not allow it; the record is as it was, then.
bool store(const RecordColumn& column, Field field, ResultRecord& record);

/// All of it as fields.
Table table_of(const RecordTable& table);

}  // namespace gpuexp
