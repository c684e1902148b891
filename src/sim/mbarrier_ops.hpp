#pragma once

#include <cstdint>
#include <vector>

#include "sim/program.hpp"

namespace gpuexp::sim {

/// mbarriers whose phases the lanes test by SYNCS.PHASECHK, and whether all these phases have
/// ended.
struct AwaitedPhases {
  bool have_ended = true;
  std::vector<std::uint64_t> offsets;  ///< offsets in the block's shared memory
};

/// Returns the phases that `op`, the lanes' next instruction, tests. Throws Fault if an address
/// holds no mbarrier.
AwaitedPhases awaited_phases(Warp& warp, const Op& op, LaneMask lanes);

/// Decodes ATOMS.ARRIVE, an arrival at an mbarrier of compute capability 8.x.
void decode_arrive_at_words(const Decoding& in, Op& op);

}  // namespace gpuexp::sim
