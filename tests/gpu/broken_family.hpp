// A family whose variants have one fault each, which must be detected.
#pragma once

#include "family/family.hpp"

namespace gpuexp::test {

/// y = 2·x over n elements. `right`, `waits` and `waits_undeclared` compute it; each other variant
/// has the fault in its name.
Family broken_family();

/// Writes one float past the end of an allocation: compute-sanitizer's memcheck must report it.
void write_past_allocation();

/// Two warps access one word of shared memory without a barrier: racecheck must report it.
void race_in_shared_memory();

}  // namespace gpuexp::test
