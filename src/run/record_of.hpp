// The columns of a run's result rows, and the value of each column for a cell.
#pragma once

#include <cstddef>
#include <vector>

#include "base/table.hpp"
#include "family/counters.hpp"
#include "plan/plan.hpp"
#include "record/record_table.hpp"
#include "run/row.hpp"

namespace gpuexp {

/// An empty table: the fixed columns except those of merged results, then param.<name> for every
/// parameter and metric.<name> for every metric of the plan's families, and counter.<name> for
/// every requested hardware counter.
RecordTable empty_table(const Plan& plan);

ResultRecord record_of(const RecordTable& table, const Plan& plan, const Row& row);

/// The column counter.<name>; also used for counts of a single kernel.
ColumnInfo counter_info(const SelectedCounter& counter);

/// An empty table for one row per kernel of each counted launch. Columns: "key" (of the result
/// row), "kernel" (index in the launch, starting at 0), "name", and the counter.<name> columns. No
/// columns if the plan requests no counters.
Table empty_kernel_table(const Plan& plan);

/// Maximum number of kernels listed per launch. Longer launches repeat a few kernels hundreds of
/// times; the result row has the sums over all kernels.
inline constexpr std::size_t kMaxKernelRows = 64;

std::vector<std::vector<Field>> kernel_fields_of(const Plan& plan, const Row& row);

}  // namespace gpuexp
