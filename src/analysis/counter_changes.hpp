// Counters that changed between two variants, and the counters that belong to the cause.
#pragma once

#include "analysis/explained_pair.hpp"

namespace gpuexp {

/// Sorts the expected counter changes of an explanation whose cause is set, and adds the counters
/// of the cause.
void add_changes(Explanation& explanation);

}  // namespace gpuexp
