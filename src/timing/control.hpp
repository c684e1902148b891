// The part of an instruction's encoding that says when it may be issued: from Volta on the compiler
// schedules, and the hardware checks nothing of fixed latencies.
#pragma once

#include <cstdint>

namespace gpuexp {

/// Bits 105 to 125 of the 128 of an instruction (Jia et al., Dissecting the NVIDIA Volta GPU
/// Architecture via Microbenchmarking, 2018, section 2.1).
struct Control {
  static constexpr unsigned kNoScoreboard = 7;

  unsigned stall = 0;  ///< clocks until the warp's next instruction may be issued
  bool stays = false;  ///< the scheduler goes on with this warp rather than with another
  unsigned writes = kNoScoreboard;  ///< scoreboard that its result releases
  unsigned reads = kNoScoreboard;   ///< scoreboard that is released when its operands are read
  unsigned waits = 0;               ///< a bit for each scoreboard that has to be free before it
  unsigned reuse = 0;               ///< a bit for each operand that stays for the next instruction
};

/// Of ListedInstruction::schedule, bits 64 to 127.
constexpr Control control_of(std::uint64_t schedule) {
  constexpr unsigned kFirst = 105 - 64;
  const auto bits = [&](unsigned from, unsigned count) {
    return static_cast<unsigned>(schedule >> (kFirst + from)) & ((1u << count) - 1);
  };
  return {bits(0, 4), bits(4, 1) != 0, bits(5, 3), bits(8, 3), bits(11, 6), bits(17, 4)};
}

}  // namespace gpuexp
