#pragma once

#include "timing/resident.hpp"

namespace gpuexp {

/// Sets Scheduler::choice. Among the warps that can issue first, chooses the preferred warp, else
/// the warp that has been ready longest. Chooses no warp if all warps sleep.
void choose(Scheduler& scheduler);

}  // namespace gpuexp
