// Which counters changed between two variants, and which of them belong to the cause.
#pragma once

#include "analysis/explained_pair.hpp"

namespace gpuexp {

/// Sorts the declared counters of an explanation whose cause is found, and names its amounts.
void add_changes(Explanation& explanation);

}  // namespace gpuexp
