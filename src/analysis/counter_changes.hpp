// Counters that changed between two variants, and those that belong to the cause.
#pragma once

#include "analysis/explained_pair.hpp"

namespace gpuexp {

/// Sorts the expected counter changes of an explanation, whose cause must be set, and adds the
/// amounts of the cause.
void add_changes(Explanation& explanation);

}  // namespace gpuexp
