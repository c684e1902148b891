// Phases of mbarriers that warps wait for.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/program.hpp"

namespace gpuexp::sim {

/// mbarriers that lanes test by SYNCS.PHASECHK.
struct AwaitedPhases {
  bool have_ended = true;
  std::vector<std::uint64_t> offsets;  ///< in the block's shared memory
};

/// Phases that `op`, the lanes' next instruction, tests. Throws Fault if an mbarrier is missing.
AwaitedPhases awaited_phases(Warp& warp, const Op& op, LaneMask lanes);

}  // namespace gpuexp::sim
