// Column sums of a matrix. Each block sums a slice of the rows. It stores its sums to the slice's
// row of partial sums, which a second kernel sums, or adds its sums atomically to a single row.
//
// Matrices are row-major without padding. A functor computes the terms from an element's index,
// so terms need not be in memory.
#pragma once

#include <algorithm>

#include "kernels/common/float_vector.cuh"
#include "kernels/common/launch.cuh"

namespace gpuexp {

/// Blocks with the same blockIdx.y process the same `slice` rows, starting at blockIdx.y * slice.
struct Slices {
  std::int64_t rows, columns, slice;
  std::int64_t count() const { return ceil_div(rows, slice); }
  /// Number of bytes of one fp32 row per slice.
  std::int64_t partial_bytes() const { return count() * columns * std::int64_t{sizeof(float)}; }
};

/// Divides the rows into slices so that each SM gets about `blocks_per_sm` blocks of
/// `block_columns` columns. Slices have at least about 64 rows, so that partial sums are much
/// smaller than the matrix.
inline Slices slices_of(std::int64_t rows, std::int64_t columns, std::int64_t block_columns,
                        int blocks_per_sm, const DeviceSpec& device) {
  constexpr int kMinRows = 64;
  const std::int64_t count = blocks_per_sm * device.sm_count / ceil_div(columns, block_columns);
  const std::int64_t max_count = ceil_div(rows, kMinRows);
  return {rows, columns, ceil_div(rows, std::clamp<std::int64_t>(count, 1, max_count))};
}

/// Destination of a block's sums: one row per slice (StoreSums), or one row for all slices
/// (AddSums).
struct StoreSums {
  float* to;
  __device__ void operator()(const Slices& s, std::int64_t column, float sum) const {
    to[blockIdx.y * s.columns + column] = sum;
  }
};
struct AddSums {
  float* to;
  __device__ void operator()(const Slices&, std::int64_t column, float sum) const {
    atomicAdd(to + column, sum);
  }
};

constexpr int kColumnBlock = 256;
constexpr int kColumnLanes = 32;
constexpr int kColumnWarps = kColumnBlock / kColumnLanes;

template <class T>
struct ElementTerms {
  using Element = T;
  static constexpr int kRowsInFlight = 4;  // rows that a lane loads before the first addition
  const T* from;
  template <int kWidth>
  __device__ void load(std::int64_t i, float (&term)[kWidth], float (&)[kWidth]) const {
    load_floats(from + i, term);
  }
  template <int kWidth>
  __device__ void finish(std::int64_t, float (&)[kWidth], const float (&)[kWidth]) const {}
};

namespace detail {

template <int kRows, int kWidth, class Terms>
__device__ void add_rows(const Terms& terms, std::int64_t i, std::int64_t step,
                         float (&sums)[kWidth]) {
  float term[kRows][kWidth], other[kRows][kWidth];
#pragma unroll
  for (int r = 0; r < kRows; ++r)
    terms.load(i + r * step, term[r], other[r]);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    terms.finish(i + r * step, term[r], other[r]);
#pragma unroll
    for (int j = 0; j < kWidth; ++j)
      sums[j] += term[r][j];
  }
}

}  // namespace detail

/// Resident blocks per SM. Launch bounds limit registers accordingly, and the grid is one wave.
constexpr int kTilesPerSm = 4;

/// A block sums 32·kWidth columns of a slice. Each warp processes every kColumnWarps-th row, and
/// the warps combine their sums in shared memory. kWidth must divide the number of columns.
template <int kWidth, class Terms, class Put>
__global__ void __launch_bounds__(kColumnBlock, kTilesPerSm)
    tile_sums_kernel(Slices s, Terms terms, Put put) {
  __shared__ float warp_sums[kColumnWarps][kColumnLanes * kWidth];
  const int warp = static_cast<int>(threadIdx.x) / kColumnLanes;
  const int own = static_cast<int>(threadIdx.x) % kColumnLanes * kWidth;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (kColumnLanes * kWidth);
  const std::int64_t end = min(s.rows, (blockIdx.y + 1) * s.slice);
  float sums[kWidth] = {};
  if (first + own < s.columns) {
    constexpr int kRows = Terms::kRowsInFlight;
    const std::int64_t step = kColumnWarps * s.columns;
    std::int64_t row = blockIdx.y * s.slice + warp;
    std::int64_t i = row * s.columns + first + own;
#pragma unroll 1
    for (; row + (kRows - 1) * kColumnWarps < end; row += kRows * kColumnWarps, i += kRows * step)
      detail::add_rows<kRows>(terms, i, step, sums);
#pragma unroll 1
    for (; row < end; row += kColumnWarps, i += step)
      detail::add_rows<1>(terms, i, step, sums);
  }
#pragma unroll
  for (int j = 0; j < kWidth; ++j)
    warp_sums[warp][own + j] = sums[j];
  __syncthreads();
#pragma unroll 1
  for (int j = static_cast<int>(threadIdx.x); j < kColumnLanes * kWidth; j += kColumnBlock) {
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < kColumnWarps; ++w)
      sum += warp_sums[w][j];
    if (first + j < s.columns) put(s, first + j, sum);
  }
}

template <int kWidth, class Terms, class Put>
Steps launch_tile_sums(const Slices& s, const Terms& terms, Put put) {
  return launch(tile_sums_kernel<kWidth, Terms, Put>,
                shape_of_tiles({s.columns, s.count()}, {kColumnLanes * kWidth, 1}, kColumnBlock), s,
                terms, put);
}

/// Number of columns per block of tile_sums(). Lanes load 16 bytes if rows are multiples of 16
/// bytes, otherwise one element.
inline std::int64_t columns_per_block(std::int64_t columns, DataType type) {
  constexpr std::int64_t kBytes = 16;
  const auto element = static_cast<std::int64_t>(size_of(type));
  return kColumnLanes * (columns * element % kBytes == 0 ? kBytes / element : 1);
}

template <class Terms, class Put>
Steps tile_sums(const Slices& s, const Terms& terms, Put put) {
  constexpr int kWidth = 16 / static_cast<int>(sizeof(typename Terms::Element));
  return s.columns % kWidth == 0 ? launch_tile_sums<kWidth>(s, terms, put)
                                 : launch_tile_sums<1>(s, terms, put);
}

inline __global__ void __launch_bounds__(kColumnBlock)
    add_slices_kernel(const float* partial, std::int64_t count, std::int64_t columns, float* sums) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kColumnBlock + threadIdx.x;
  if (column >= columns) return;
  float sum = 0.0f;
#pragma unroll 8
  for (std::int64_t i = 0; i < count; ++i)
    sum += partial[i * columns + column];
  sums[column] = sum;
}

inline Steps sum_slices(const Slices& s, const float* partial, float* sums) {
  return launch(add_slices_kernel, shape_of_tiles({s.columns}, {kColumnBlock}, kColumnBlock),
                partial, s.count(), s.columns, sums);
}

/// Launches tile_sums_kernel with StoreSums, then add_slices_kernel. `partial` has
/// Slices::partial_bytes() bytes.
template <class Terms>
Steps launch_stored_tile_sums(const Slices& s, const Terms& terms, float* partial, float* sums) {
  return tile_sums(s, terms, StoreSums{partial}) + sum_slices(s, partial, sums);
}

}  // namespace gpuexp
