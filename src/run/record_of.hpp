// The rows of a run: the columns that its plan asks for, and what each says of a cell.
#pragma once

#include <cstddef>
#include <vector>

#include "base/table.hpp"
#include "family/counters.hpp"
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

/// counter.<name>, of a row's whole launch or of one kernel.
ColumnInfo counter_info(const SelectedCounter& counter);

/// A table of the kernels in launches: "key" of the row, "kernel" (its place, from 0), "name", and
/// counter.<name> as the rows have. No columns where the plan asks for no counters.
Table empty_kernel_table(const Plan& plan);

/// A launch of hundreds of kernels repeats a few: the row has the sums of all, and so many kernels,
/// the first of the launch, stand by themselves.
inline constexpr std::size_t kMostKernelRows = 64;

/// One row for each kernel of the row's launch, up to kMostKernelRows.
std::vector<std::vector<Field>> kernel_fields_of(const Plan& plan, const Row& row);

}  // namespace gpuexp
