// Which elements of an output are compared, where a reference of all of them costs too much. C++17,
// included by .cu files.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/random_bits.hpp"

namespace gpuexp {

/// Pieces of neighbouring elements, drawn by a hash of their place: a device and the host draw the
/// same ones, and nobody keeps a list.
struct ElementDraw {
  /// Neighbours, because a reference reads what they have in common; few, because faults come in
  /// rows and tiles.
  static constexpr std::int64_t kPiece = 64;

  std::uint64_t seed = 0;
  /// A piece is drawn when its hash is below this; all bits set: every piece is.
  std::uint64_t threshold = ~std::uint64_t{0};

  GPUEXP_HOST_DEVICE bool is_all() const { return threshold == ~std::uint64_t{0}; }
  GPUEXP_HOST_DEVICE bool has(std::int64_t element) const {
    return is_all() || random_bits(seed, static_cast<std::uint64_t>(element / kPiece)) < threshold;
  }
  friend bool operator==(const ElementDraw& a, const ElementDraw& b) {
    return a.seed == b.seed && a.threshold == b.threshold;
  }
};

/// About this share of the pieces, all of them from 1 on; equal seeds draw the same ones. Inputs
/// that are made from the same seed have random bits of their own.
inline ElementDraw drawn_share(double share, std::uint64_t seed) {
  if (!(share < 1)) return {};
  return {random_bits(~seed, 0), static_cast<std::uint64_t>(std::ldexp(share, 64))};
}

}  // namespace gpuexp
