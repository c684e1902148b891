// Which order of dimensions the distances between accesses show.
#pragma once

#include <cstddef>
#include <vector>

#include "infer/extent_fit.hpp"
#include "infer/touched_elements.hpp"

namespace gpuexp::infer {

/// The elements that single blocks access in one sample.
struct BlockSets {
  std::size_t sample = 0;
  const std::vector<ElementSet>* sets = nullptr;
  const Distances* distances = nullptr;  ///< between accesses; null: not known
};

/// The share of distances between accesses that the order explains, from 0 to 1: they are the same
/// whole combination of its row lengths in all samples, such as 16 rows less 3 elements. Only
/// distances that vary with the sizes count; 0 if there are none.
double explained_distances(const std::vector<Dimension>& ordered,
                           const std::vector<BlockSets>& blocks);

}  // namespace gpuexp::infer
