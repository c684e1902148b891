// What variants declare, for results that do not say it.
#pragma once

#include "family/registry.hpp"
#include "record/record_table.hpp"

namespace gpuexp {

/// Fills in implementation, and compare_to with expected_changes, from the registry where the
/// table is of an older version and lacks these columns. It gets no columns. Rows of families,
/// variants or parameters that the registry does not know stay as they are.
void add_declarations(RecordTable& table, const Registry& registry);

}  // namespace gpuexp
