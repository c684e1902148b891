// In-place passes over scores in global memory: mask, softmax and dropout. S has one row of
// `pitch` elements for each query of each head.
#pragma once

#include "kernels/common/attention_problem.cuh"
#include "kernels/common/philox.cuh"
#include "kernels/common/row_registers.cuh"

namespace gpuexp::attention {

constexpr int kPassBlock = 256;
constexpr int kPassWidth = 8;  // 16 bytes

// Each thread loads 8 neighbouring elements of S, calls change(row, key, elements), and stores
// the changed elements. `row` counts the rows of all heads; `key` is the column of the first
// element.
template <class In, class Change>
__device__ void change_scores(In* scores, std::int64_t rows, std::int64_t pitch, Change change) {
  const std::int64_t at =
      (static_cast<std::int64_t>(blockIdx.x) * kPassBlock + threadIdx.x) * kPassWidth;
  if (at >= rows * pitch) return;
  float v[kPassWidth];
  load_floats(scores + at, v);
  const std::int64_t row = at / pitch;
  change(row, static_cast<int>(at - row * pitch), v);
  store_floats(scores + at, v);
}

template <class In>
__global__ void __launch_bounds__(kPassBlock)
    mask_kernel(Heads heads, In* scores, std::int64_t rows, std::int64_t pitch) {
  change_scores(scores, rows, pitch, [&](std::int64_t row, int key, float(&v)[kPassWidth]) {
    const int query = static_cast<int>(row % heads.allowed.queries);
    const int first = heads.allowed.first(query), end = heads.allowed.end(query);
#pragma unroll
    for (int i = 0; i < kPassWidth; ++i)
      if (key + i < first || key + i >= end) v[i] = -INFINITY;
  });
}

template <class In>
__global__ void __launch_bounds__(kPassBlock) softmax_kernel(In* scores, int pitch) {
  const BlockRow group;
  In* const row = scores + group.row * pitch;
  const MaxSum found = max_sum_of_row<1>(group, row, pitch);
  const float factor = found.sum > 0.0f ? 1.0f / found.sum : 0.0f;
  for_parts<kPassWidth, 1, Edges::whole>(group, row, pitch, -INFINITY, [&](auto& part) {
    part.each([&](float score) { return fast_exp(score - found.max) * factor; });
    part.store(row);
  });
}

template <class In>
__global__ void __launch_bounds__(kPassBlock)
    dropout_kernel(Heads heads, In* weights, std::int64_t rows, std::int64_t pitch) {
  const std::uint32_t threshold = dropout_threshold(heads.dropout);
  const float gain = 1.0f / (1.0f - heads.dropout);
  change_scores(weights, rows, pitch, [&](std::int64_t row, int key, float(&v)[kPassWidth]) {
#pragma unroll
    for (int i = 0; i < kPassWidth; i += 4) {
      const PhiloxWords words =
          philox_words(heads.dropout_seed, dropout_group(row, heads.allowed.keys, key + i));
#pragma unroll
      for (int c = 0; c < 4; ++c)
        v[i + c] = words.word[c] < threshold ? 0.0f : gain * v[i + c];
    }
  });
}

}  // namespace gpuexp::attention
