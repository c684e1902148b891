// The columns of every report, each declared once: name, unit, meaning, which rows have a value,
// and the member of a record that holds it. CSV, JSON, logs, the schema and the docs read this
// list, and readers fill records by it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/table.hpp"
#include "record/record_member.hpp"

namespace gpuexp {

/// Which rows have a value in a column.
enum class Presence {
  some,    ///< those where the value is known
  all,     ///< every row
  passed,  ///< passed rows alone: what a row that did not pass must not claim
  merged,  ///< rows of merged results, where it is known; other results have no such column
};

struct FixedColumn : ColumnInfo {
  RecordMember member;
  Presence presence = Presence::some;
  std::vector<std::string> values = {};  ///< the only texts, of an enumeration; empty: any
};

/// In the order in which reports have them.
const std::vector<FixedColumn>& fixed_columns();

/// Null where no column has the name.
const FixedColumn* find_fixed_column(std::string_view name);
/// The column that the member is written to.
const FixedColumn& fixed_column(const RecordMember& member);

}  // namespace gpuexp
