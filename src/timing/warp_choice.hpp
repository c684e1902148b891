// Choice of the warp whose instruction a scheduler issues next.
#pragma once

#include "timing/resident.hpp"

namespace gpuexp {

/// Sets Scheduler::choice. Among the warps that can issue first, it chooses the preferred one, else
/// the one that has been ready longest; no warp if all sleep.
void choose(Scheduler& scheduler);

}  // namespace gpuexp
