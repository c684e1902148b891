// Random selection of the output elements to compare, for references that are too expensive to
// compute in full. C++17, included by .cu files.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/random_bits.hpp"

namespace gpuexp {

/// Selects pieces of kPiece neighbouring elements by a hash of the piece's index, so that device
/// and host select the same pieces without a list.
struct ElementDraw {
  /// Elements of a piece share data that the reference reads. Pieces are short and therefore spread
  /// over the output, because errors often cover whole rows or tiles.
  static constexpr std::int64_t kPiece = 64;

  std::uint64_t seed = 0;
  /// A piece is selected if its hash is below this value. With all bits set, every piece is
  /// selected.
  std::uint64_t threshold = ~std::uint64_t{0};

  GPUEXP_HOST_DEVICE bool is_all() const { return threshold == ~std::uint64_t{0}; }
  GPUEXP_HOST_DEVICE bool has(std::int64_t element) const {
    return is_all() || random_bits(seed, static_cast<std::uint64_t>(element / kPiece)) < threshold;
  }
  friend bool operator==(const ElementDraw& a, const ElementDraw& b) {
    return a.seed == b.seed && a.threshold == b.threshold;
  }
};

/// Selects about this share of the pieces; all pieces if the share is 1 or more. Equal seeds select
/// equal pieces. The selection does not depend on inputs generated from the same seed.
inline ElementDraw drawn_share(double share, std::uint64_t seed) {
  if (!(share < 1)) return {};
  return {random_bits(~seed, 0), static_cast<std::uint64_t>(std::ldexp(share, 64))};
}

}  // namespace gpuexp
