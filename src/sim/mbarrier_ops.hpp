// What warps wait for at barriers that count arrivals and bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/program.hpp"

namespace gpuexp::sim {

/// What lanes ask mbarriers for by SYNCS.PHASECHK.
struct AwaitedPhases {
  bool have_ended = true;
  std::vector<std::uint64_t> offsets;  ///< of the mbarriers, in the block's shared memory
};

/// Of an instruction that the lanes would execute next. Throws Fault where no mbarrier is.
AwaitedPhases awaited_phases(Warp& warp, const Op& op, LaneMask lanes);

}  // namespace gpuexp::sim
