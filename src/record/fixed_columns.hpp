// The columns of every report, each declared once: name, unit, meaning, rows with a value, and
// member of ResultRecord. CSV, JSON, logs, the schema and the docs use this list.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/table.hpp"
#include "record/record_member.hpp"

namespace gpuexp {

enum class Presence {
  some,    ///< rows in which the value is known
  all,     ///< every row
  passed,  ///< only rows with status passed, sampled or unverified
  merged,  ///< rows of merged results in which the value is known
};

struct FixedColumn : ColumnInfo {
  RecordMember member;
  Presence presence = Presence::some;
  std::vector<std::string> values = {};  ///< allowed texts of an enumeration; empty: any text
};

const std::vector<FixedColumn>& fixed_columns();

const FixedColumn* find_fixed_column(std::string_view name);
const FixedColumn& fixed_column(const RecordMember& member);

}  // namespace gpuexp
