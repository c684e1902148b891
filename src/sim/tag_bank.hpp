// Which bank of L1's tags holds a line. C++17, free of CUDA.
#pragma once

#include <array>
#include <cstdint>

namespace gpuexp {

inline constexpr unsigned kTagBanks = 4;

/// L1's tags lie in four banks, of which each finds one line per wavefront. A line's bank is a
/// linear hash of its number: each bit of the result is the parity of some bits of the number.
/// NVIDIA does not document it. Found on an H200 from pairs of lines that share a bank, or do not:
/// two that do take a wavefront more (l1tex__t_output_wavefronts). Loads, stores and atomics of any
/// lines within 128 MiB then take the wavefronts that it says, without exception
/// (tests/gpu/tag_bank_test.cpp); bits above, which only lines farther apart differ by, are left
/// out.
constexpr unsigned tag_bank(std::uint64_t line) {
  constexpr std::uint64_t kFirstBit = 0xF7AB5;
  constexpr std::uint64_t kSecondBit = 0xAD5DA;
  // Both parities at once, in the lowest bit of each half.
  std::uint64_t bits = (line & kFirstBit) | (line & kSecondBit) << 32;
  for (unsigned shift = 16; shift >= 1; shift /= 2)
    bits ^= bits >> shift;
  return static_cast<unsigned>((bits & 1) | (bits >> 31 & 2));
}

/// The lines of a request, by wavefront of the tag stage: each wavefront finds the next line of
/// each bank. Lines come in ascending order, each once.
class TagLookups {
 public:
  /// The wavefront that finds the line, counted from 0.
  unsigned wavefront_of(std::uint64_t line) { return found_[tag_bank(line)]++; }

 private:
  std::array<unsigned, kTagBanks> found_{};
};

}  // namespace gpuexp
