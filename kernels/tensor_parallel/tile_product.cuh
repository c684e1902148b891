// A tile of a part's product, computed by a block with mma.sync.
#pragma once

#include "kernels/common/mma_pipeline.cuh"
#include "kernels/common/tile_order.cuh"
#include "kernels/tensor_parallel/steps.cuh"

namespace gpuexp::tensor_parallel {

constexpr unsigned kGroupRows = 16;  // tile rows; makes a group of C about as wide as high

using LargeTiles = Pipeline<Tiling<128, 256, 64, 64, 64>, 4>;

/// An operand with `rows` rows and `columns` columns, from element (row, column).
__device__ inline Window window_of(const T* from, std::int64_t row, std::int64_t column,
                                   std::int64_t pitch, std::int64_t rows, std::int64_t columns) {
  constexpr int kSize = static_cast<int>(sizeof(T));
  const auto* const base = reinterpret_cast<const char*>(from);
  return {base, base + (row * pitch + column) * kSize, static_cast<int>(pitch) * kSize,
          static_cast<int>(rows - row), static_cast<int>(columns - column) * kSize};
}

template <class P>
using TileSums = WarpProduct<T, float, P>;

/// The sums of a tile of C, by one block (pipelined_sums).
template <class P, int kUnitBytes>
__device__ __forceinline__ TileSums<P> tile_sums(char* shared, const Corner& tile,
                                                 const Operands& x) {
  return pipelined_sums<TileSums<P>, T, P, kUnitBytes>(
      shared, window_of(x.a, tile.row, 0, x.a_pitch, x.rows, x.depth),
      window_of(x.b, 0, tile.col, x.b_pitch, x.depth, x.columns), static_cast<int>(x.depth));
}

template <class P>
__device__ Corner corner_of(const TilePlace<unsigned>& tile) {
  return {static_cast<std::int64_t>(tile.row) * P::kBlockM,
          static_cast<std::int64_t>(tile.column) * P::kBlockN};
}

}  // namespace gpuexp::tensor_parallel
