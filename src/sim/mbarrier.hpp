#pragma once

#include <cstdint>

#include "sim/block.hpp"

namespace gpuexp::sim {

/// A phase ends when all expected arrivals and all announced bytes have arrived. The PTX ISA calls
/// the format opaque, but kernels compute the initial state, and read arrival counts from the state
/// that an arrival returns. Bits 1 to 20 hold 2^20 minus the number of arrivals that each phase
/// expects, bits 43 to 62 hold 2^20 minus the number of pending arrivals, and bit 63 is the phase's
/// parity. Where the hardware keeps pending bytes is not known; the simulator keeps them in bits 21
/// to 42, in two's complement.
struct Mbarrier {
  std::uint32_t arrivals = 0;  ///< number of arrivals that each phase expects
  std::uint32_t pending = 0;   ///< number of arrivals that the current phase still expects
  std::int32_t bytes = 0;      ///< announced minus completed bytes; negative if completed first
  bool parity = false;

  static Mbarrier from_bits(std::uint64_t bits);
  std::uint64_t bits() const;
};

/// Reads the mbarrier at an offset in the block's shared memory. Throws Fault if there is none.
Mbarrier read_mbarrier(Block& block, std::uint64_t address);

struct Arrival {
  std::uint32_t count = 0;
  std::int64_t announced_bytes = 0;  ///< number of bytes; negative: number of completed bytes
  bool leaves = false;               ///< later phases do not expect these arrivals
};

/// Applies an arrival, and ends the phase if it is complete. Returns the state before the arrival.
/// Throws Fault if a phase receives too many arrivals or bytes.
std::uint64_t arrive(Block& block, std::uint64_t address, const Arrival& arrival);

}  // namespace gpuexp::sim
