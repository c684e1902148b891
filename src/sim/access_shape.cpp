#include "sim/access_shape.hpp"

#include <algorithm>

#include "sim/vectorized.hpp"

namespace gpuexp::sim {

namespace {

using Pattern = AccessShape::Pattern;

GPUEXP_INLINED Pattern pattern_of(const Lanes64& address, unsigned width) {
  std::uint64_t not_one = 0;
  std::uint64_t not_contiguous = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    not_one |= address[l] ^ address[0];
    not_contiguous |= address[l] ^ (address[0] + std::uint64_t{l} * width);
  }
  return not_one == 0 ? Pattern::one : not_contiguous == 0 ? Pattern::contiguous : Pattern::other;
}

}  // namespace

GPUEXP_VECTORIZED AccessShape shape_of(const Lanes64& address, LaneMask lanes, unsigned width) {
  const std::uint64_t begin = address[0];
  AccessShape shape;
  if (lanes == kAllLanes) {
    shape.pattern = pattern_of(address, width);
    shape.is_aligned = (begin & (width - 1)) == 0;
    shape.first = begin;
    shape.last = shape.pattern == Pattern::one ? begin : begin + (kLanes - 1) * width;
    if (shape.pattern != Pattern::other) return shape;
  }
  std::uint64_t first = ~std::uint64_t{0};
  std::uint64_t last = 0;
  std::uint64_t low_bits = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    const bool takes_part = lanes >> l & 1;
    first = std::min(first, takes_part ? address[l] : ~std::uint64_t{0});
    last = std::max(last, takes_part ? address[l] : 0);
    low_bits |= takes_part ? address[l] : 0;
  }
  return {Pattern::other, (low_bits & (width - 1)) == 0, first, last};
}

}  // namespace gpuexp::sim
