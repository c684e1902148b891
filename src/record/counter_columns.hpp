// Columns of hardware counters: of a row's whole launch, and of each of its kernels.
#pragma once

#include <string>
#include <vector>

#include "family/counters.hpp"
#include "record/column.hpp"

namespace gpuexp {

inline const std::string kCounterPrefix = "counter.";

/// Empty in rows whose counters were not read.
Column counter_column(const SelectedCounter& counter);

/// A table of the kernels in launches: "key" of the row, "kernel" (its place, from 0), "name", and
/// counter.<name> as in columns_of(). No columns where the plan asks for no counters.
Table empty_kernel_table(const Plan& plan);

/// One row for each kernel of the row's launch.
std::vector<std::vector<Field>> kernel_fields_of(const Plan& plan, const Row& row);

}  // namespace gpuexp
