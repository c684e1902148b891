// Random values by Zipf's law: a few of them make up most of it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "base/random_bits.hpp"

namespace gpuexp {

/// Odd, so that it permutes the values: frequent ones lie anywhere.
inline constexpr std::uint32_t kZipfSpread = 40503;

/// Of the values by how frequent they are, rank r (from 1) has a share of 1/r^exponent. An octave
/// [2^j, 2^(j+1)) is drawn by what its ranks would have at most, and a rank of it is kept by what
/// it has of that. All of it in integers, whose bits are the same wherever they are computed.
struct ZipfDraw {
  static constexpr int kOctaves = 16;
  static constexpr int kPieceBits = 5;  // of pieces in which 1/m^exponent, 1 <= m <= 2, is linear

  std::uint64_t seed;
  unsigned bits;                              // of a value
  std::uint32_t below[kOctaves];              // 2^32 times the share of octaves up to this one
  std::uint32_t kept[(1 << kPieceBits) + 1];  // 2^31 / m^exponent

  GPUEXP_HOST_DEVICE std::uint32_t operator()(std::int64_t i) const {
    for (std::uint64_t draw = 0;; draw += 2) {
      const std::uint64_t first = random_bits(seed + draw, static_cast<std::uint64_t>(i));
      const std::uint64_t second = random_bits(seed + draw + 1, static_cast<std::uint64_t>(i));
      const auto chosen = static_cast<std::uint32_t>(first >> 32);
      unsigned octave = 0;
      while (octave + 1 < bits && chosen >= below[octave])
        ++octave;
      // How far the rank is in its octave, a fraction of 16 bits.
      const auto offset = static_cast<std::uint32_t>(first) & ((1u << octave) - 1);
      const std::uint32_t fraction = offset << (16 - octave);
      const std::uint32_t piece = fraction >> (16 - kPieceBits);
      const std::uint64_t within = fraction & ((1u << (16 - kPieceBits)) - 1);
      const std::uint64_t fall = kept[piece] - kept[piece + 1];
      const std::uint64_t share = kept[piece] - (fall * within >> (16 - kPieceBits));
      if (second >> 33 >= share) continue;
      const std::uint32_t rank = (1u << octave) + offset;
      return (rank - 1) * kZipfSpread & ((1u << bits) - 1);
    }
  }
};

/// Values of so many bits, at most ZipfDraw::kOctaves. Ranks end at 2^bits - 1: the last value does
/// not occur.
inline ZipfDraw zipf_draw(unsigned bits, double exponent, std::uint64_t seed) {
  ZipfDraw z{seed, bits, {}, {}};
  std::array<double, ZipfDraw::kOctaves> sums{};
  double sum = 0;
  for (unsigned j = 0; j < z.bits; ++j)
    sums[j] = sum += std::exp2(j * (1 - exponent));
  for (unsigned j = 0; j < z.bits; ++j)
    z.below[j] = static_cast<std::uint32_t>(std::min(0x1p32 - 1, 0x1p32 * sums[j] / sum));
  constexpr int kPieces = 1 << ZipfDraw::kPieceBits;
  for (int i = 0; i <= kPieces; ++i)
    z.kept[i] = static_cast<std::uint32_t>(
        0x1p31 * std::pow(1 + static_cast<double>(i) / kPieces, -exponent));
  return z;
}

}  // namespace gpuexp
