// Parameters of a kernel file that choose how a problem is computed, not which problem, and the
// variants that depend on them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "own/binding.hpp"

namespace gpuexp::own {

/// Names of the parameters that are macros, or that a launch's template arguments or block use.
std::set<std::string> tuning_parameters(const Bound& bound);

/// Names of the parameters on which the variant does not depend: neither buffers, checks, the
/// reference and work, nor the variant's launches use them. The machine code may still depend on a
/// macro. Requirements do not count, because they only choose among the values.
std::vector<std::string> unused_parameters(const Bound& bound, const BoundVariant& variant);

}  // namespace gpuexp::own
