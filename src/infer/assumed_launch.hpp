// Parts of a launch that no known text gives.
#pragma once

#include "infer/launch_resolution.hpp"
#include "infer/touched_elements.hpp"
#include "sim/simulator.hpp"

namespace gpuexp::infer {

/// A launch with blocks of 256 threads, or of 16 x 16 if the kernel reads threadIdx.y. It has no
/// grid. The notes say what was assumed.
ResolvedLaunch launch_with_assumed_block(const KernelSignature& kernel, bool has_block_y);

/// Sets the launch's grid to the blocks that store something, or else to one thread for each of the
/// first numbers; of two dimensions if the kernel reads blockIdx.y. Adds notes.
void assume_grid(ResolvedLaunch& launch, const KernelSignature& kernel, const void* address,
                 bool has_grid_y, sim::Simulator& simulator, ProbeBudget& budget);

}  // namespace gpuexp::infer
