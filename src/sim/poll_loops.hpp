// Finds loops in which a warp waits for a value in shared memory that another warp stores.
#pragma once

#include <vector>

#include "sim/program.hpp"

namespace gpuexp::sim {

/// Whether each instruction reads a flag: a load from shared memory, or an atomic operation that
/// may leave the value unchanged, in a loop that ends depending on the value, never changes the
/// address, and stores nothing. Machine code has no mark for volatile and strong loads from shared
/// memory, but a compiler keeps such a load in the loop only if it is one of them. Includes a copy
/// of the load shortly before the loop, for the first iteration. The branch that repeats the loop
/// is included, too, if it is conditional.
std::vector<bool> polling_ops(const Program& program);

}  // namespace gpuexp::sim
