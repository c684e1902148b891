// What variants declare, as columns of results.
#pragma once

#include "base/table.hpp"
#include "family/registry.hpp"
#include "record/columns.hpp"

namespace gpuexp {

/// Adds the two columns from the registry where the table lacks them. Rows of families, variants or
/// parameters that the registry does not know stay without.
void add_declarations(Table& table, const Registry& registry);

}  // namespace gpuexp
