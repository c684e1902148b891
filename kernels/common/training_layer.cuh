// Element-wise operations on the results of a layer's products, in epilogues or in separate
// kernels, and the loss of a training step.
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

/// The epilogue of a layer's product. In this order, it adds a bias, multiplies by GELU's slope,
/// adds a residual, stores the result, and stores GELU of the rounded result. A null pointer
/// omits its operation.
template <class T>
struct LayerEpilogue {
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

/// The epilogue of a product that computes weight gradients, which are fp32. Unless `state` is
/// null, it sets state->overflow if a gradient is not finite.
struct GradientEpilogue {
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

/// A layer's three products (training_product.cuh), defined in
/// kernels/training_step/layer_products.cu. `rows_aligned`: whether the rows of all matrices are
/// multiples of 16 bytes.
template <class T>
struct LayerProducts {
  /// a·b
  static Steps forward(const Extents& x, const T* a, const T* b, const LayerEpilogue<T>& tail,
                       bool rows_aligned);
  /// a·bᵀ: gradients of the layer's inputs
  static Steps input_gradients(const Extents& x, const T* a, const T* b,
                               const LayerEpilogue<T>& tail, bool rows_aligned);
  /// aᵀ·b: gradients of the layer's weights
  static Steps of_weights(const Extents& x, const T* a, const T* b, const GradientEpilogue& tail,
                          bool rows_aligned);
};

template <int kCount, class T>
__device__ void load_parts(const T* from, float (&v)[kCount]) {
  constexpr int kMax = 16 / static_cast<int>(sizeof(T));
  constexpr int kPart = kCount < kMax ? kCount : kMax;
#pragma unroll
  for (int j = 0; j < kCount; j += kPart) {
    float part[kPart];
    load_floats(from + j, part);
#pragma unroll
    for (int q = 0; q < kPart; ++q)
      v[j + q] = part[q];
  }
}

template <class Tail>
struct ApplyEpilogue {
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

/// Separate kernels over n elements of activations, defined in kernels/training_step.cu.
template <class T>
struct Passes {
  static Steps activate(const T* h, T* a, std::int64_t n);
  static Steps scale_by_slope(const T* h, T* dh, std::int64_t n);
  static Steps add(const T* by, T* to, std::int64_t n);
  static Steps finish(const ApplyEpilogue<LayerEpilogue<T>>& op, std::int64_t n);
};

// ---- the loss

/// The loss is the mean of the squares of y - target; its gradient by y is multiplied by the loss
/// scale. One kernel stores a partial sum per block. A second kernel of one block sums these
/// partial sums, and clears the overflow flag of the step.
inline constexpr int kLossBlock = 256;
inline constexpr int kLossBlocks = 1024;

/// Computes the loss of n elements, with kLossBlocks partial sums. `covered` is the number of
/// outputs that the launch shape of the last kernel covers. Defined in kernels/training_step.cu.
template <class T>
Steps squared_error(const T* y, const float* target, T* dy, std::int64_t n, float* sums,
                    float* loss, State* state, std::int64_t covered);

}  // namespace gpuexp::training
