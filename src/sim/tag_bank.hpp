// L1 tag bank of a line. C++17, free of CUDA.
#pragma once

#include <array>
#include <cstdint>

namespace gpuexp {

inline constexpr unsigned kTagBanks = 4;

/// L1's tags have four banks; each looks up one line per wavefront. A line's bank number has two
/// bits, and each bit is the parity of a set of bits of the line number. NVIDIA does not document
/// this hash. It was determined on an H200 from pairs of lines: two lines of one bank take one more
/// wavefront (l1tex__t_output_wavefronts). It predicts the wavefronts of loads, stores and atomics
/// of any lines within 128 MiB without exception (tests/gpu/tag_bank_test.cpp), and omits higher
/// bits.
constexpr unsigned tag_bank(std::uint64_t line) {
  constexpr std::uint64_t kFirstBit = 0xF7AB5;
  constexpr std::uint64_t kSecondBit = 0xAD5DA;
  // Computes both parities at once, each in the lowest bit of its 32-bit half.
  std::uint64_t bits = (line & kFirstBit) | (line & kSecondBit) << 32;
  for (unsigned shift = 16; shift >= 1; shift /= 2)
    bits ^= bits >> shift;
  return static_cast<unsigned>((bits & 1) | (bits >> 31 & 2));
}

/// Assigns the lines of a request to tag-stage wavefronts. A wavefront looks up one line per bank.
/// Lines must be ascending and distinct.
class TagLookups {
 public:
  /// Wavefront that looks up the line, counted from 0.
  unsigned wavefront_of(std::uint64_t line) { return found_[tag_bank(line)]++; }

 private:
  std::array<unsigned, kTagBanks> found_{};
};

}  // namespace gpuexp
