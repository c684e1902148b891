// Problems of families, from the parameters in results.
#pragma once

#include <memory>

#include "family/registry.hpp"
#include "record/record_table.hpp"

namespace gpuexp {

/// The family's problem with these parameters, or null if the family does not allow it.
std::shared_ptr<const void> problem_of(const Family& family, const NamedValues& parameters);

}  // namespace gpuexp
