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

/// Reference to a column: a fixed column, or a name in one of the record's groups (parameters,
/// metrics, counters, others).
struct ColumnHandle {
  const FixedColumn* fixed = nullptr;
  NamedGroup group = nullptr;  ///< null for a fixed column
  std::string name;            ///< the column's name, without the group's prefix

  Field field(const ResultRecord& record) const;
  /// The value if it is a finite number.
  std::optional<double> number(const ResultRecord& record) const;
  /// The value as text; "" if it is missing.
  std::string text(const ResultRecord& record) const;

  bool operator==(const ColumnHandle&) const = default;
};

ColumnHandle column_of(const RecordMember& member);
ColumnHandle metric_column(std::string name);
/// The column with this name in files: a fixed column ("time_median_us") or a column of a group
/// ("param.n"). Any other name is an entry of ResultRecord::others.
ColumnHandle column_named(const std::string& name);

/// A column of a file. If another version of gpuexp wrote the file, unit and doc are from that
/// version.
struct RecordColumn : ColumnInfo {
  ColumnHandle handle;
  std::size_t place = 0;  ///< index of the handle's name in its group, in this table's records

  bool operator==(const RecordColumn&) const = default;
};

struct RecordTable {
  RecordTable() = default;
  /// A table without rows. Throws ReportError if the type of a fixed column differs from its
  /// declaration.
  explicit RecordTable(const std::vector<ColumnInfo>& infos);

  std::vector<RecordColumn> columns;
  std::vector<ResultRecord> rows;

  bool has(const RecordMember& member) const;
  ResultRecord blank_record() const;

  bool operator==(const RecordTable& other) const {
    return columns == other.columns && rows == other.rows;
  }

 private:
  /// Names of parameters, metrics, counters and others, shared by the rows.
  std::shared_ptr<const NameList> parameters_, metrics_, counters_, others_;
};

Field field_of(const RecordColumn& column, const ResultRecord& record);
std::vector<Field> fields_of(const std::vector<RecordColumn>& columns, const ResultRecord& record);
/// Stores the value. Returns false, and leaves the record unchanged, if the column does not allow
/// it.
bool store(const RecordColumn& column, Field field, ResultRecord& record);

Table table_of(const RecordTable& table);

}  // namespace gpuexp
