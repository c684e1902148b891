#pragma once

#include <memory>

#include "family/registry.hpp"
#include "record/record_table.hpp"

namespace gpuexp {

/// The family's problem with these parameters; null if the family does not allow the parameters.
std::shared_ptr<const void> problem_of(const Family& family, const NamedValues& parameters);

}  // namespace gpuexp
