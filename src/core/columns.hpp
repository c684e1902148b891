// Every report column, declared once: name, unit, type, meaning and where its value comes from.
// CSV, JSON, the terminal and the docs all read this list.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/plan.hpp"
#include "core/row.hpp"
#include "core/table.hpp"

namespace gpuexp {

/// Which rows have a value in a column.
enum class Presence {
  some,    ///< those where the value is known
  all,     ///< every row
  passed,  ///< passed rows alone: what a row that did not pass must not claim
};

struct Column : ColumnInfo {
  std::function<Field(const Plan&, const Row&)> get;
  Presence presence = Presence::some;
  std::vector<std::string> values = {};  ///< the only texts; empty: any
};

/// The columns of every report, in order.
const std::vector<Column>& core_columns();

/// Of the columns that hold hardware counters.
inline const std::string kCounterPrefix = "counter.";

/// The core columns, then param.<name> for every parameter and metric.<name> for every metric of
/// the families in the plan, and counter.<name> for every hardware counter that is asked for.
std::vector<Column> columns_of(const Plan& plan);

std::vector<Field> fields_of(const std::vector<Column>& columns, const Plan& plan, const Row& row);

/// A table of the kernels in launches: "key" of the row, "kernel" (its place, from 0), "name", and
/// counter.<name> as in columns_of(). No columns where the plan asks for no counters.
Table empty_kernel_table(const Plan& plan);

/// One row for each kernel of the row's launch.
std::vector<std::vector<Field>> kernel_fields_of(const Plan& plan, const Row& row);

/// A table with the columns of the plan and no rows.
Table empty_table(const std::vector<Column>& columns);

}  // namespace gpuexp
