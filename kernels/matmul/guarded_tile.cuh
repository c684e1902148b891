// Tile copy of matmul's variants coarsen_1d and coarsen_2d.
#pragma once

#include <cuda_runtime.h>

namespace gpuexp::matmul {

/// Copies the kRows×kCols tile that starts at *source to shared memory, with zeros outside the
/// matrix. Consecutive lanes copy consecutive elements of a row, which are contiguous in global and
/// in shared memory. Offsets within a tile fit in 32 bits, because extents are at most 65536.
template <int kThreads, int kRows, int kCols>
__device__ void load_guarded(float (&tile)[kRows][kCols], const float* source, int pitch,
                             int rows_left, int cols_left, int thread) {
  static_assert(kRows * kCols % kThreads == 0, "each thread copies the same number of elements");
#pragma unroll
  for (int i = 0; i < kRows * kCols / kThreads; ++i) {
    const int row = (thread + i * kThreads) / kCols;
    const int col = (thread + i * kThreads) % kCols;
    tile[row][col] = row < rows_left && col < cols_left ? source[row * pitch + col] : 0.0f;
  }
}

}  // namespace gpuexp::matmul
