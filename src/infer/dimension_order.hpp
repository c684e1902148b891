// A buffer's dimensions and their order, from the elements that single blocks access.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "infer/extent_fit.hpp"
#include "infer/touched_elements.hpp"

namespace gpuexp::infer {

/// The elements that single blocks access in one sample.
struct BlockSets {
  std::size_t sample = 0;
  const std::vector<ElementSet>* sets = nullptr;
};

/// Other dimensions with the same product: constant factors and divisors are distributed among the
/// parameters in other ways. Instead of [h][w/4], for example, [h/2][w/2]; instead of [h][w][4],
/// [2*h][2*w]. Those with fewer dimensions come first.
std::vector<std::vector<Dimension>> regrouped(const std::vector<Dimension>& dimensions);

/// Dimensions in row-major order, such that each block accesses a box: almost all combinations of
/// some indices of each dimension. If several orders fit, the given one comes first. If the boxes
/// have gaps, regrouped dimensions whose boxes have fewer are preferred. Empty if none fits, as for
/// a buffer that the kernel treats as one-dimensional.
std::optional<std::vector<Dimension>> ordered_dimensions(const std::vector<Dimension>& dimensions,
                                                         const std::vector<BlockSets>& blocks);

}  // namespace gpuexp::infer
