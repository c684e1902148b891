// The columns of every report, each declared once: name, unit, meaning, which rows have a value,
// and the member of a record that holds it. CSV, JSON, logs, the schema and the docs read this
// list, and readers fill records by it.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/table.hpp"
#include "record/result_record.hpp"

namespace gpuexp {

/// Which rows have a value in a column.
enum class Presence {
  some,    ///< those where the value is known
  all,     ///< every row
  passed,  ///< passed rows alone: what a row that did not pass must not claim
};

/// How a member is written, and read again, follows from its type.
using RecordMember =
    std::variant<std::string ResultRecord::*, std::vector<std::string> ResultRecord::*,
                 std::vector<ExpectedChange> ResultRecord::*, std::optional<double> ResultRecord::*,
                 std::optional<std::int64_t> ResultRecord::*, std::optional<Mode> ResultRecord::*,
                 std::optional<Status> ResultRecord::*, std::optional<StopReason> ResultRecord::*,
                 std::optional<Implementation> ResultRecord::*>;

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

Field field_of(const FixedColumn& column, const ResultRecord& record);
/// Fills the member. False where the field holds no value of it; the record is as it was, then.
bool store(const FixedColumn& column, Field field, ResultRecord& record);
/// What store() takes, for messages: "cold, warm, graph or profile".
std::string allowed_text(const FixedColumn& column);

}  // namespace gpuexp
