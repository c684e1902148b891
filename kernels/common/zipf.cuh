// Random values that follow Zipf's law: a few values make up most of the array.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "base/random_bits.hpp"

namespace gpuexp {

/// An odd multiplier. It permutes the values, so that frequent values are spread over the range.
inline constexpr std::uint32_t kZipfMultiplier = 40503;

/// Draws values by rejection sampling. The frequency of a value is proportional to 1/r^exponent,
/// where rank r = 1 is the most frequent value. A draw chooses an octave [2^j, 2^(j+1)) of ranks,
/// in proportion to an upper bound on the octave's frequency, and then a rank of the octave,
/// uniformly. It accepts the rank with the probability frequency / bound. Draws use only
/// integers, so host and device results are bitwise identical.
struct ZipfDraw {
  static constexpr int kOctaves = 16;
  static constexpr int kPieceBits = 5;  // 2^5 linear pieces of 1/m^exponent, 1 <= m <= 2

  std::uint64_t seed;
  unsigned bits;                              // bits per value
  std::uint32_t below[kOctaves];              // 2^32 times the cumulative share of the octaves
  std::uint32_t kept[(1 << kPieceBits) + 1];  // 2^31 / m^exponent at the ends of pieces

  GPUEXP_HOST_DEVICE std::uint32_t operator()(std::int64_t i) const {
    for (std::uint64_t draw = 0;; draw += 2) {
      const std::uint64_t first = random_bits(seed + draw, static_cast<std::uint64_t>(i));
      const std::uint64_t second = random_bits(seed + draw + 1, static_cast<std::uint64_t>(i));
      const auto chosen = static_cast<std::uint32_t>(first >> 32);
      unsigned octave = 0;
      while (octave + 1 < bits && chosen >= below[octave])
        ++octave;
      // Position of the rank in its octave, as a 16-bit fraction.
      const auto offset = static_cast<std::uint32_t>(first) & ((1u << octave) - 1);
      const std::uint32_t fraction = offset << (16 - octave);
      const std::uint32_t piece = fraction >> (16 - kPieceBits);
      const std::uint64_t within = fraction & ((1u << (16 - kPieceBits)) - 1);
      const std::uint64_t fall = kept[piece] - kept[piece + 1];
      const std::uint64_t share = kept[piece] - (fall * within >> (16 - kPieceBits));
      if (second >> 33 >= share) continue;
      const std::uint32_t rank = (1u << octave) + offset;
      return (rank - 1) * kZipfMultiplier & ((1u << bits) - 1);
    }
  }
};

/// The ZipfDraw for values of `bits` bits, at most ZipfDraw::kOctaves. Ranks end at 2^bits - 1,
/// so one of the 2^bits values does not occur.
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
