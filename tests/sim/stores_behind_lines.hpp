// A kernel whose warps load lines together, and store what has come to shared memory.
#pragma once

#include "family/step.hpp"

namespace gpuexp::test {

/// One block of so many warps. Each turn begins with a barrier, some thousand clocks after the one
/// before; then each warp loads 1 or 4 lines that nobody has loaded before, and stores each when it
/// has come. `lines` has as many words as all load.
Steps stores_behind_lines(int warps, int loads, int turns, const unsigned* lines, unsigned* sink);

}  // namespace gpuexp::test
