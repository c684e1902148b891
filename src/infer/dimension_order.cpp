#include "infer/dimension_order.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace gpuexp::infer {

namespace {

/// Number of combinations of the indices that the elements have in each dimension.
double combinations(const ElementSet& elements, const std::vector<Dimension>& dimensions,
                    const std::vector<std::size_t>& order, std::size_t sample) {
  std::vector<std::set<std::int64_t>> indices(order.size());
  for (const std::int64_t element : elements) {
    std::int64_t rest = element;
    for (std::size_t d = order.size(); d-- > 0;) {
      const std::int64_t extent = dimensions[order[d]].values[sample];
      indices[d].insert(d == 0 ? rest : rest % extent);
      rest /= extent;
    }
  }
  double product = 1;
  for (const auto& of_dimension : indices)
    product *= static_cast<double>(of_dimension.size());
  return product;
}

/// Share of the combinations of their indices that the blocks access, from 0 to 1.
double share_of_boxes(const std::vector<Dimension>& dimensions,
                      const std::vector<std::size_t>& order, const std::vector<BlockSets>& blocks) {
  double accessed = 0;
  double boxes = 0;
  for (const BlockSets& block : blocks) {
    for (const ElementSet& elements : *block.sets) {
      if (elements.empty() || elements.front() < 0) return 0;
      accessed += static_cast<double>(elements.size());
      boxes += combinations(elements, dimensions, order, block.sample);
    }
  }
  return boxes > 0 ? accessed / boxes : 1;
}

}  // namespace

std::optional<std::vector<Dimension>> ordered_dimensions(const std::vector<Dimension>& dimensions,
                                                         const std::vector<BlockSets>& blocks) {
  // A stencil leaves out the corners of its tiles.
  constexpr double kMinShare = 0.85;
  std::vector<std::size_t> order(dimensions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::size_t> best;
  double best_share = 0;
  do {
    const double share = share_of_boxes(dimensions, order, blocks);
    if (share < kMinShare || share <= best_share) continue;
    best = order;
    best_share = share;
  } while (std::next_permutation(order.begin(), order.end()));
  if (best.empty()) return std::nullopt;
  std::vector<Dimension> ordered;
  for (const std::size_t d : best)
    ordered.push_back(dimensions[d]);
  return ordered;
}

}  // namespace gpuexp::infer
