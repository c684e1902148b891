// Conversions between row-major matrices (for products) and arrays of heads (for attention).
#pragma once

#include "kernels/common/attention_steps.cuh"
#include "kernels/common/training_layer.cuh"
#include "kernels/common/training_product.cuh"

namespace gpuexp::training_block {

using namespace training;

inline constexpr int kHeadDim = attention::kFp32HeadDim;

/// Layout of arrays of heads, for attention. A head has 64 elements of every row, rows are
/// ordered by sequence, and heads are contiguous. Q, K and V have width / 64 heads each, and are
/// contiguous arrays.
struct HeadPlaces {
  std::int64_t rows;

  __host__ __device__ std::int64_t operator()(std::int64_t row, int column) const {
    return (column / kHeadDim * rows + row) * kHeadDim + column % kHeadDim;
  }
  __host__ __device__ std::int64_t row_of(std::int64_t place) const {
    return place / kHeadDim % rows;
  }
  __host__ __device__ int column_of(std::int64_t place) const {
    return static_cast<int>(place / kHeadDim / rows) * kHeadDim +
           static_cast<int>(place % kHeadDim);
  }
};

constexpr int kHeadBlock = 256;

/// The epilogue of a product whose columns belong to heads: adds a bias, unless it is null, and
/// stores the elements to an array of heads.
template <class T>
struct HeadsEpilogue {
  const float* bias;
  HeadPlaces places;
  int columns;
  T* to;
  template <int kCount>
  __device__ void operator()(std::int64_t place, int column, float (&v)[kCount]) const {
    if (bias) add_bias(v, bias + column);
    store_floats(to + places(place / columns, column), v);
  }
};

/// Applies the epilogue to rows in memory. A thread processes neighbouring elements of one head.
template <class From, class T>
__global__ void __launch_bounds__(kHeadBlock)
    split_heads_kernel(const From* rows, HeadsEpilogue<T> tail, std::int64_t n) {
  constexpr int kWidth = 16 / static_cast<int>(sizeof(T));
  const std::int64_t i =
      (static_cast<std::int64_t>(blockIdx.x) * kHeadBlock + threadIdx.x) * kWidth;
  if (i >= n) return;
  float v[kWidth];
  load_parts(rows + i, v);
  tail(i, static_cast<int>(i % tail.columns), v);
}

/// Up to three arrays of heads that become side-by-side columns of one row-major matrix.
template <class T>
struct HeadArrays {
  const T* array[3];
  int width;
  int columns;
};
template <class T>
__global__ void __launch_bounds__(kHeadBlock)
    merge_heads_kernel(HeadArrays<T> from, HeadPlaces places, T* rows, std::int64_t n) {
  constexpr int kWidth = 16 / static_cast<int>(sizeof(T));
  const std::int64_t i =
      (static_cast<std::int64_t>(blockIdx.x) * kHeadBlock + threadIdx.x) * kWidth;
  if (i >= n) return;
  const auto column = static_cast<int>(i % from.columns);
  const int width = from.width;
  const T* const array = column < width       ? from.array[0]
                         : column < 2 * width ? from.array[1]
                                              : from.array[2];
  const std::int64_t place = places(i / from.columns, column % width);
  *reinterpret_cast<uint4*>(rows + i) = *reinterpret_cast<const uint4*>(array + place);
}

template <class T>
Shape head_elements(std::int64_t n) {
  return shape_of_tiles({n}, {kHeadBlock * 16 / std::int64_t{sizeof(T)}}, kHeadBlock);
}
template <class From, class T>
Steps split_heads(const From* from, const HeadsEpilogue<T>& tail, std::int64_t n) {
  return launch(split_heads_kernel<From, T>, head_elements<T>(n), from, tail, n);
}
template <class T>
Steps apply_epilogue(const Extents& x, const float* sums, const HeadsEpilogue<T>& tail) {
  return split_heads(sums, tail, static_cast<std::int64_t>(x.m) * x.n);
}

}  // namespace gpuexp::training_block
