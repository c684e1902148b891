// Which bank of L1's tags holds a line. C++17, free of CUDA.
#pragma once

#include <cstdint>

namespace gpuexp {

inline constexpr unsigned kTagBanks = 4;

/// An XOR of the digits to the base of four of a line's number (family/warp_access.hpp says what it
/// was held against).
constexpr unsigned tag_bank(std::uint64_t line) {
  for (unsigned bits = 32; bits >= 2; bits /= 2)
    line ^= line >> bits;
  return static_cast<unsigned>(line % kTagBanks);
}

}  // namespace gpuexp
