// What variants declare, for results that do not say it.
#pragma once

#include <memory>

#include "family/registry.hpp"
#include "record/record_table.hpp"

namespace gpuexp {

/// Fills in implementation, and compare_to with expected_changes, from the registry where the
/// table is of an older version and lacks these columns. It gets no columns. Rows of families,
/// variants or parameters that the registry does not know stay as they are.
void add_declarations(RecordTable& table, const Registry& registry);

/// The family's problem with these parameters, which may come from anywhere; null where the family
/// allows no such problem.
std::shared_ptr<const void> problem_of(const Family& family, const NamedValues& parameters);

}  // namespace gpuexp
