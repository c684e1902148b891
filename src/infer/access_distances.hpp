// Which order of dimensions the distances between accesses show.
#pragma once

#include <vector>

#include "infer/dimension_order.hpp"

namespace gpuexp::infer {

/// The share of distances between accesses that the order explains, from 0 to 1: they are the same
/// whole combination of its row lengths in all samples, such as 16 rows less 3 elements. Only
/// distances that vary with the sizes count; 0 if there are none.
double explained_distances(const std::vector<Dimension>& ordered,
                           const std::vector<BlockSets>& blocks);

}  // namespace gpuexp::infer
