// The columns of every report, each declared once: name, unit, meaning, rows with a value, and the
// member of ResultRecord that holds it. CSV, JSON, logs, the schema and the docs use this list.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/table.hpp"
#include "record/record_member.hpp"

namespace gpuexp {

/// Which rows have a value in a column.
enum class Presence {
  some,    ///< rows in which the value is known
  all,     ///< every row
  passed,  ///< only passed rows
  merged,  ///< rows of merged results in which it is known; other results lack the column
};

struct FixedColumn : ColumnInfo {
  RecordMember member;
  Presence presence = Presence::some;
  std::vector<std::string> values = {};  ///< allowed texts of an enumeration; empty: any text
};

/// All columns, in the order of reports.
const std::vector<FixedColumn>& fixed_columns();

/// The column with the name, or null.
const FixedColumn* find_fixed_column(std::string_view name);
/// The column that holds the member.
const FixedColumn& fixed_column(const RecordMember& member);

}  // namespace gpuexp
