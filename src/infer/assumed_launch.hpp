// A launch for a kernel that no known text launches.
#pragma once

#include "infer/launch_resolution.hpp"
#include "sim/simulator.hpp"

namespace gpuexp::infer {

/// Blocks of 256 threads, or of 16 x 16 if the kernel reads threadIdx.y or blockIdx.y (`uses_y`).
/// The grid has the blocks that store something, or else one thread for each of the first number.
/// The notes say what was assumed.
ResolvedLaunch assumed_launch(const KernelSignature& kernel, const void* address, bool uses_y,
                              sim::Simulator& simulator);

}  // namespace gpuexp::infer
