// The order in which blocks take the tiles of a matrix.
#pragma once

namespace gpuexp {

/// Counted in tiles.
template <class Count>
struct TilePlace {
  Count row;
  Count column;
};

/// The tile that is so many behind the first one in the order below, of rows × columns of tiles.
template <auto kGroupRows, class Count = decltype(kGroupRows)>
__device__ TilePlace<Count> grouped_tile(Count linear, Count rows, Count columns) {
  const Count per_group = kGroupRows * columns;
  const Count first_row = linear / per_group * kGroupRows;
  const Count group_rows = min(rows - first_row, kGroupRows);
  const Count in_group = linear % per_group;
  return {first_row + in_group % group_rows, in_group / group_rows};
}

/// The tile of C of this block of a matrix product, for grids of rows × columns of tiles. Blocks
/// start in the order of their linear index. Walking down kGroupRows tiles before the next column
/// keeps the blocks that run at one time in a compact patch of C, which shares rows of A and
/// columns of B in L2: taken column by column, the 132 blocks in flight on an H200 would read all
/// of A (up to 132 rows of tiles) for a column or two of B.
///
/// The arithmetic is in the type of kGroupRows, which is the caller's choice because the registers
/// of the whole kernel follow from it: matmul's async_stages takes 7 % longer with unsigned than
/// with int, its warp_tile 1 to 2 % less (H200, CUDA 13.0, 2048³ to 8192³).
template <auto kGroupRows>
__device__ auto grouped_tile() {
  using Count = decltype(kGroupRows);
  const Count linear = blockIdx.y * gridDim.x + blockIdx.x;
  return grouped_tile<kGroupRows>(linear, static_cast<Count>(gridDim.x),
                                  static_cast<Count>(gridDim.y));
}

/// Which tiles blocks take one after the other: neighbours in a row of tiles, or in a column.
enum class TileOrder { by_rows, by_columns };

/// The tile of this block, for grids of columns × rows of tiles.
template <TileOrder kOrder>
__device__ TilePlace<unsigned> ordered_tile() {
  if (kOrder == TileOrder::by_rows) return {blockIdx.y, blockIdx.x};
  const unsigned linear = blockIdx.y * gridDim.x + blockIdx.x;
  return {linear % gridDim.y, linear / gridDim.y};
}

}  // namespace gpuexp
