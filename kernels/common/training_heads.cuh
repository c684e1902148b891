// A token's elements in rows, as products have them, and by heads, as attention does.
#pragma once

#include "kernels/common/attention_steps.cuh"
#include "kernels/common/training_layer.cuh"

namespace gpuexp::training_block {

using namespace training;

inline constexpr int kHeadDim = attention::kFp32Dim;

/// Where the elements of a token are that belong to heads: Q, K and V, or another array of them,
/// are [sequences][heads][tokens][64] each, which attention takes.
struct HeadPlaces {
  int tokens, heads;
  std::int64_t outer;  ///< from one of the arrays to the next

  /// Of the column of a row of [sequences · tokens][arrays · heads · 64].
  __host__ __device__ std::int64_t operator()(std::int64_t row, int column) const {
    const int width = heads * kHeadDim, in_array = column % width;
    const std::int64_t head = row / tokens * heads + in_array / kHeadDim;
    return column / width * outer + (head * tokens + row % tokens) * kHeadDim + in_array % kHeadDim;
  }
  /// The row, and the column within an array, of a place in it.
  __host__ __device__ std::int64_t row_of(std::int64_t place) const {
    const std::int64_t token = place / kHeadDim % tokens;
    return place / kHeadDim / tokens / heads * tokens + token;
  }
  __host__ __device__ int column_of(std::int64_t place) const {
    const auto head = static_cast<int>(place / kHeadDim / tokens % heads);
    return head * kHeadDim + static_cast<int>(place % kHeadDim);
  }
};
constexpr int kHeadBlock = 256;

/// What follows a product whose columns are of heads: a bias where there is one, and the place that
/// attention reads.
template <class T>
struct HeadsTail {
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

/// Of rows in memory. A thread has neighbours, which a head has, too.
template <class From, class T>
__global__ void __launch_bounds__(kHeadBlock)
    split_heads_kernel(const From* rows, HeadsTail<T> tail, std::int64_t n) {
  constexpr int kWidth = 16 / static_cast<int>(sizeof(T));
  const std::int64_t i =
      (static_cast<std::int64_t>(blockIdx.x) * kHeadBlock + threadIdx.x) * kWidth;
  if (i >= n) return;
  float v[kWidth];
  load_parts(rows + i, v);
  tail(i, static_cast<int>(i % tail.columns), v);
}

/// The way back: arrays of heads, beside each other in rows.
template <class T>
struct HeadArrays {
  const T* array[3];
  int columns;  // of all
};
template <class T>
__global__ void __launch_bounds__(kHeadBlock)
    merge_heads_kernel(HeadArrays<T> from, HeadPlaces places, T* rows, std::int64_t n) {
  constexpr int kWidth = 16 / static_cast<int>(sizeof(T));
  const std::int64_t i =
      (static_cast<std::int64_t>(blockIdx.x) * kHeadBlock + threadIdx.x) * kWidth;
  if (i >= n) return;
  const auto column = static_cast<int>(i % from.columns);
  const int width = places.heads * kHeadDim;
  const T* const array = column < width       ? from.array[0]
                         : column < 2 * width ? from.array[1]
                                              : from.array[2];
  store_pack(rows + i, load_pack<kWidth>(array + places(i / from.columns, column % width)));
}

/// A thread for each 16 bytes of so many elements.
template <class T>
Shape head_elements(std::int64_t n) {
  Shape s;
  s.block = {kHeadBlock, 1, 1};
  s.tile = {kHeadBlock * 16 / std::int64_t{sizeof(T)}, 1, 1};
  s.grid = {ceil_div(n, s.tile.x), 1, 1};
  return s;
}

}  // namespace gpuexp::training_block
