// Counters that changed between two variants, and the counters that belong to the cause.
#pragma once

#include "analysis/explained_pair.hpp"

namespace gpuexp {

/// Sorts the expected counter changes of an explanation whose cause is set into `changes`, `kept`,
/// `others` and `not_seen`. Adds the counters of the cause to `changes`, and sets `l2_hits`.
void add_changes(Explanation& explanation);

}  // namespace gpuexp
