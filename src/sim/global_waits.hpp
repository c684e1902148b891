// Finds blocks that wait for a value in global memory.
#pragma once

#include "sim/cluster.hpp"

namespace gpuexp::sim {

/// Whether each running warp of the cluster executes a loop that leaves all registers as they were,
/// and one of these loops loads from global memory, so that only another block can end them. Warps
/// at barriers wait for those warps. Executes some instructions: the cluster must not be executed
/// further.
bool awaits_global(const Cluster& cluster);

}  // namespace gpuexp::sim
