// Every report column, declared once: name, unit, type, meaning and where its value comes from.
// CSV, JSON, the terminal and the docs all read this list.
#pragma once

#include <vector>

#include "base/table.hpp"
#include "plan/plan.hpp"
#include "record/column.hpp"
#include "record/row.hpp"

namespace gpuexp {

/// Columns of what each row's variant declares. Results without them, written by an older version,
/// are given them by add_declarations().
inline constexpr const char* kCompareToColumn = "compare_to";
inline constexpr const char* kMovesColumn = "moves";

/// The columns of every report, in order.
const std::vector<Column>& core_columns();

/// The core columns, then param.<name> for every parameter and metric.<name> for every metric of
/// the families in the plan, and counter.<name> for every hardware counter that is asked for.
std::vector<Column> columns_of(const Plan& plan);

std::vector<Field> fields_of(const std::vector<Column>& columns, const Plan& plan, const Row& row);

/// A table with the columns of the plan and no rows.
Table empty_table(const std::vector<Column>& columns);

}  // namespace gpuexp
