// A family whose variants are wrong in one way each, to see that every one is rejected.
#pragma once

#include "family/family.hpp"

namespace gpuexp::test {

/// y = 2·x over n elements. `right`, `waits` and `waits_undeclared` compute it; the others each
/// have the fault that they are named after.
Family broken_family();

/// Writes one float past the end of an allocation: what compute-sanitizer's memcheck must report.
void write_past_allocation();

/// Reads and writes one word of shared memory from two warps without a barrier: what racecheck must
/// report.
void race_in_shared_memory();

}  // namespace gpuexp::test
