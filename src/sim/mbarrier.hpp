// An mbarrier: 64 bits in shared memory.
#pragma once

#include <cstdint>

#include "sim/block.hpp"

namespace gpuexp::sim {

/// A phase ends when all arrivals have come and as many bytes as were announced. The PTX ISA calls
/// the form opaque, but kernels compose the first one themselves and read counts of arrivals out of
/// what an arrival returns: so bits 1 to 20 hold 2^20 less the arrivals of every phase, bits 43 to
/// 62 2^20 less those still to come, bit 63 the phase's parity. The bytes still to come are in bits
/// 21 to 42, as two's complement: which bits the hardware has them in, no code shows.
struct Mbarrier {
  std::uint32_t arrivals = 0;  ///< of every phase
  std::uint32_t pending = 0;   ///< arrivals that this phase still waits for
  std::int32_t bytes = 0;      ///< announced, less those that came; may be below 0 meanwhile
  bool parity = false;         ///< of the current phase

  static Mbarrier from_bits(std::uint64_t bits);
  std::uint64_t bits() const;
};

/// The barrier at an address of the block's shared memory. Throws Fault where none is.
Mbarrier read_mbarrier(Block& block, std::uint64_t address);

/// What comes to an mbarrier at once.
struct Arrival {
  std::uint32_t count = 0;
  std::int64_t announced_bytes = 0;  ///< below 0: bytes that came
  bool leaves = false;               ///< later phases do not wait for these arrivals
};

/// Takes an arrival in, and ends the phase where that was all. Returns the bits before. Throws
/// Fault for more arrivals or bytes than a phase may have.
std::uint64_t arrive(Block& block, std::uint64_t address, const Arrival& arrival);

}  // namespace gpuexp::sim
