// What follows the products of a layer in training, in their epilogues or as kernels of their own,
// and the loss.
#pragma once

#include <algorithm>

#include "kernels/common/gelu_slope.cuh"
#include "kernels/common/training_product.cuh"
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

/// A layer's three products (training_product.cuh), which kernels/training_step/layer_products.cu
/// has. `in_vectors`: rows of all matrices are whole numbers of 16 bytes.
template <class T>
struct LayerProducts {
  /// a·b
  static Steps forward(const Extents& x, const T* a, const T* b, const LayerTail<T>& tail,
                       bool in_vectors);
  /// a·bᵀ: gradients of a layer's inputs
  static Steps of_inputs(const Extents& x, const T* a, const T* b, const LayerTail<T>& tail,
                         bool in_vectors);
  /// aᵀ·b: gradients of its weights
  static Steps of_weights(const Extents& x, const T* a, const T* b, const GradientTail& tail,
                          bool in_vectors);
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
/// added up by a block of another kernel, which also clears the step's overflow.
inline constexpr int kLossBlock = 256;
inline constexpr int kLossBlocks = 1024;

/// Of n elements, by way of kLossBlocks sums; the last kernel stands for `covered` elements. In
/// kernels/training_step.cu, too.
template <class T>
Steps squared_error(const T* y, const float* target, T* dy, std::int64_t n, float* sums,
                    float* loss, State* state, std::int64_t covered);

}  // namespace gpuexp::training
