// What variants declare, for results that do not say it.
#pragma once

#include <memory>

#include "family/registry.hpp"
#include "record/record_table.hpp"

namespace gpuexp {

/// The family's problem with these parameters, which may come from anywhere; null where the family
/// allows no such problem.
std::shared_ptr<const void> problem_of(const Family& family, const NamedValues& parameters);

}  // namespace gpuexp
