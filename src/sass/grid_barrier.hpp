// Finds machine code that synchronizes the blocks of a whole grid.
#pragma once

#include <string_view>

namespace gpuexp {

/// Whether the machine code of a kernel, as nvdisasm prints it, synchronizes the whole grid with
/// cooperative groups (cg::this_grid().sync()). Such code needs a cooperative launch, and traps in
/// other launches. `compute_capability`: 90 for 9.0.
bool synchronizes_grid(std::string_view code, int compute_capability);

}  // namespace gpuexp
