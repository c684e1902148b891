// mbarriers of compute capability 8.x: two words, which ordinary instructions initialize and poll.
#pragma once

#include <cstdint>

#include "sim/block.hpp"

namespace gpuexp::sim {

/// A phase ends when all expected arrivals have arrived. The PTX ISA calls the format opaque, but
/// machine code composes it: bits 0 to 29 of the first word hold 2^30 minus the number of arrivals
/// that each phase expects. Bits 0 to 30 of the second word hold 2^31 minus the number of pending
/// arrivals, and bit 31 is the phase's parity, which the last arrival inverts by a carry.
struct MbarrierWords {
  std::uint32_t arrivals = 0;  ///< number of arrivals that each phase expects
  std::uint32_t pending = 0;   ///< number of arrivals that the current phase still expects
  bool parity = false;

  static MbarrierWords from_bits(std::uint64_t bits);
  std::uint64_t bits() const;
};

/// Applies one arrival to the mbarrier at an offset in the block's shared memory, and ends the
/// phase if it is complete. Returns the state before the arrival. Throws Fault if there is no
/// mbarrier or the phase expects no further arrival.
std::uint64_t arrive_at_words(Block& block, std::uint64_t address);

}  // namespace gpuexp::sim
