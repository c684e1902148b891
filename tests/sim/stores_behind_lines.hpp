// A kernel whose warps load lines at the same time and store the loaded words to shared memory.
#pragma once

#include "family/step.hpp"

namespace gpuexp::test {

/// One block of `warps` warps. Each of `iterations` starts with a barrier, some thousand
/// cycles after the previous one. Each warp then loads 1 or 4 new lines and stores each when it has
/// arrived. `lines` has one word per loaded word.
Steps stores_behind_lines(int warps, int loads, int iterations, const unsigned* lines,
                          unsigned* sink);

}  // namespace gpuexp::test
