// The rows of a run: the columns that its plan asks for, and what each says of a cell.
#pragma once

#include "plan/plan.hpp"
#include "record/record_table.hpp"
#include "run/row.hpp"

namespace gpuexp {

/// The fixed columns, then param.<name> for every parameter and metric.<name> for every metric of
/// the families in the plan, and counter.<name> for every hardware counter that is asked for. No
/// rows.
RecordTable empty_table(const Plan& plan);

/// What the runner's row comes to, as a row of that table.
ResultRecord record_of(const RecordTable& table, const Plan& plan, const Row& row);

}  // namespace gpuexp
