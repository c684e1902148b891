// Which of its warps a scheduler issues an instruction of next.
#pragma once

#include "timing/resident.hpp"

namespace gpuexp {

/// Sets Scheduler::choice: of the warps whose next instruction can be issued first, the last one
/// where it can stay, else the one that is ready longest; no warp where all sleep.
void choose(Scheduler& scheduler);

}  // namespace gpuexp
