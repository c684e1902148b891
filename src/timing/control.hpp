// Scheduling fields of an instruction's encoding. Since Volta, the compiler schedules instructions
// of fixed latency; the hardware does not check whether their results are ready.
#pragma once

#include <cstdint>

namespace gpuexp {

/// Bits 105 to 125 of the 128-bit encoding (Jia et al., Dissecting the NVIDIA Volta GPU
/// Architecture via Microbenchmarking, 2018, section 2.1).
struct Control {
  static constexpr unsigned kNoScoreboard = 7;

  unsigned stall = 0;               ///< cycles until the warp's next instruction may issue
  bool stays = false;               ///< the scheduler prefers this warp for its next issue
  unsigned writes = kNoScoreboard;  ///< scoreboard that is released when the result is available
  unsigned reads = kNoScoreboard;   ///< scoreboard that is released when the operands are read
  unsigned waits = 0;               ///< bit mask of scoreboards that must be free before issue
  unsigned reuse = 0;               ///< bit mask of operands kept for the next instruction
};

/// Decodes ListedInstruction::schedule, which contains bits 64 to 127.
constexpr Control control_of(std::uint64_t schedule) {
  constexpr unsigned kFirst = 105 - 64;
  const auto bits = [&](unsigned from, unsigned count) {
    return static_cast<unsigned>(schedule >> (kFirst + from)) & ((1u << count) - 1);
  };
  return {bits(0, 4), bits(4, 1) != 0, bits(5, 3), bits(8, 3), bits(11, 6), bits(17, 4)};
}

}  // namespace gpuexp
