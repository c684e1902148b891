// Parameters of a kernel file that choose how a problem is computed, not which problem.
#pragma once

#include <set>
#include <string>

#include "own/binding.hpp"

namespace gpuexp::own {

/// Names of the parameters that are macros, or that a launch's template arguments or block use.
std::set<std::string> tuning_parameters(const Bound& bound);

}  // namespace gpuexp::own
