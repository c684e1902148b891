// Barriers that count arrivals and bytes, and stores that arrive there.
#pragma once

#include <cstdint>
#include <span>
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

std::span<const OpcodeDecoder> mbarrier_opcodes();

}  // namespace gpuexp::sim
