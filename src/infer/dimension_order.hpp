// A buffer's dimensions and their order, from the elements that single blocks access.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "infer/access_distances.hpp"
#include "infer/extent_fit.hpp"

namespace gpuexp::infer {

/// Other dimensions with the same product: constant factors and divisors are distributed among the
/// parameters in other ways. Instead of [h][w/4], for example, [h/2][w/2]; instead of [h][w][4],
/// [2*h][2*w]. Those with fewer dimensions come first.
std::vector<std::vector<Dimension>> regrouped(const std::vector<Dimension>& dimensions);

/// The dimensions, of which those that are parameters in one of the products come first, in its
/// order: if the grid has b*h blocks, [n][h][b] becomes [b][h][n].
std::vector<Dimension> in_order_of(const std::vector<std::string>& products,
                                   std::vector<Dimension> dimensions);

struct OrderedDimensions {
  std::vector<Dimension> dimensions;
  /// Whether another order of the parameters suits the accesses as well.
  bool is_assumed = false;
};

/// Dimensions in row-major order, such that each block accesses a box: almost all combinations of
/// some indices of each dimension. If several orders suit, the one that explains the most distances
/// between accesses is taken, then the one with the fullest boxes, and then the given one. If the
/// boxes have gaps, regrouped dimensions whose boxes have fewer are preferred. Empty if none fits,
/// as for a buffer that the kernel treats as one-dimensional.
std::optional<OrderedDimensions> ordered_dimensions(const std::vector<Dimension>& dimensions,
                                                    const std::vector<BlockSets>& blocks);

}  // namespace gpuexp::infer
