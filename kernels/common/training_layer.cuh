// What follows the products of a layer in training, in their epilogues or as kernels of their own,
// and the loss.
#pragma once

#include <algorithm>

#include "kernels/common/gelu_slope.cuh"
#include "kernels/common/ordered_sum.cuh"
#include "kernels/common/training_update.cuh"

namespace gpuexp::training {

template <int kCount>
__device__ void activate(float (&v)[kCount]) {
#pragma unroll
  for (int j = 0; j < kCount; ++j)
    v[j] *= gelu_slope(v[j], [](float z) { return fast_sigmoid(z); }).s;
}
template <int kCount>
__device__ void scale_by_slope(float (&v)[kCount], const float (&x)[kCount]) {
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    const auto slope = gelu_slope(x[j], [](float z) { return fast_sigmoid(z); });
    v[j] *= slope.first + slope.second;
  }
}

template <int kCount>
__device__ void add(float (&v)[kCount], const float (&x)[kCount]) {
#pragma unroll
  for (int j = 0; j < kCount; ++j)
    v[j] += x[j];
}

/// fp32 numbers from `bias` on.
template <int kCount>
__device__ void add_bias(float (&v)[kCount], const float* bias) {
  constexpr int kPart = kCount < 4 ? kCount : 4;
#pragma unroll
  for (int j = 0; j < kCount; j += kPart) {
    float b[kPart];
    load_floats(bias + j, b);
#pragma unroll
    for (int q = 0; q < kPart; ++q)
      v[j + q] += b[q];
  }
}

/// In this order, what of it there is: a bias, GELU's slope, a residual; and GELU of what was
/// stored.
template <class T>
struct LayerTail {
  const float* bias;
  const T* slope_of;
  const T* residual;
  T* to;
  T* activated;
  template <int kCount>
  __device__ void operator()(std::int64_t place, int column, float (&v)[kCount]) const {
    if (bias) add_bias(v, bias + column);
    float x[kCount];
    if (slope_of) {
      load_floats(slope_of + place, x);
      scale_by_slope(v, x);
    }
    if (residual) {
      load_floats(residual + place, x);
      add(v, x);
    }
    store_floats(to + place, v);
    if (!activated) return;
#pragma unroll
    for (int j = 0; j < kCount; ++j)
      v[j] = static_cast<float>(from_float<T>(v[j]));
    activate(v);
    store_floats(activated + place, v);
  }
};

/// Gradients of weights stay fp32; with a state, it learns of those that are not finite.
struct GradientTail {
  float* to;
  State* state;
  template <int kCount>
  __device__ void operator()(std::int64_t place, int, float (&v)[kCount]) const {
    constexpr int kPart = kCount < 4 ? kCount : 4;
    bool overflow = false;
#pragma unroll
    for (int j = 0; j < kCount; j += kPart) {
      float part[kPart];
#pragma unroll
      for (int q = 0; q < kPart; ++q) {
        part[q] = v[j + q];
        overflow |= !is_finite(part[q]);
      }
      store_floats(to + place + j, part);
    }
    if (state && overflow) atomicOr(&state->overflow, 1);
  }
};

/// Of fp32 in several accesses where 16 bytes do not hold them.
template <int kCount, class T>
__device__ void load_parts(const T* from, float (&v)[kCount]) {
  constexpr int kMost = 16 / static_cast<int>(sizeof(T));
  constexpr int kPart = kCount < kMost ? kCount : kMost;
#pragma unroll
  for (int j = 0; j < kCount; j += kPart) {
    float part[kPart];
    load_floats(from + j, part);
#pragma unroll
    for (int q = 0; q < kPart; ++q)
      v[j + q] = part[q];
  }
}

/// What follows a product of a library, which has left its sums.
template <class Tail>
struct FinishSums {
  const float* sums;
  Tail tail;
  int columns;
  template <int kCount>
  __device__ void apply(std::int64_t i) const {
    float v[kCount];
    load_parts(sums + i, v);
    tail(i, static_cast<int>(i % columns), v);
  }
};

/// Passes over n elements of activations by kernels of their own, which kernels/training_step.cu
/// has.
template <class T>
struct Passes {
  static Steps activate(const T* h, T* a, std::int64_t n);
  static Steps scale_by_slope(const T* h, T* dh, std::int64_t n);
  static Steps add(const T* by, T* to, std::int64_t n);
  static Steps finish(const FinishSums<LayerTail<T>>& op, std::int64_t n);
};

// ---- the loss

/// The mean of squares of y - target, and its gradient by y times the scale. Sums of blocks are
//// added up by a block of another kernel, which also clears the step's overflow.
inline constexpr int kLossBlock = 256;
inline constexpr int kLossBlocks = 1024;

template <class T>
__global__ void __launch_bounds__(kLossBlock)
    loss_kernel(const T* y, const float* target, T* dy, std::int64_t n, float two_over_n,
                const State* state, float* sums) {
  const float factor = ldexpf(two_over_n, state->scale_log2);
  float sum = 0.0f;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kLossBlock;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kLossBlock + threadIdx.x; i < n;
       i += stride) {
    const float off = static_cast<float>(y[i]) - target[i];
    sum = fmaf(off, off, sum);
    dy[i] = from_float<T>(off * factor);
  }
  sum = ordered_block_sum<kLossBlock>(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

inline __global__ void __launch_bounds__(kLossBlock)
    loss_sum_kernel(const float* sums, int count, float one_over_n, float* loss, State* state) {
  float sum = 0.0f;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kLossBlock)
    sum += sums[i];
  sum = ordered_block_sum<kLossBlock>(sum);
  if (threadIdx.x != 0) return;
  *loss = sum * one_over_n;
  state->overflow = 0;
}

/// Of n elements, by way of kLossBlocks sums; the last kernel stands for `covered` elements.
template <class T>
Steps squared_error(const T* y, const float* target, T* dy, std::int64_t n, float* sums,
                    float* loss, State* state, std::int64_t covered) {
  const auto blocks = std::min<std::int64_t>(ceil_div(n, kLossBlock), kLossBlocks);
  return launch(loss_kernel<T>, shape_of_shares({blocks}, {n}, kLossBlock), y, target, dy, n,
                static_cast<float>(2.0 / static_cast<double>(n)), state, sums) +
         launch(loss_sum_kernel, shape_of_shares({1}, {covered}, kLossBlock), sums, blocks,
                static_cast<float>(1.0 / static_cast<double>(n)), loss, state);
}

}  // namespace gpuexp::training
