// Element-wise product or sum of two arrays: the minimum work of a kernel with two operands.
#pragma once

#include "kernels/common/float_vector.cuh"
#include "kernels/common/reference.cuh"
#include "kernels/common/vectors.cuh"

namespace gpuexp {

constexpr int kPairwiseBlock = 256;

struct Times {
  __device__ float operator()(float a, float b) const { return a * b; }
};
struct Plus {
  __device__ float operator()(float a, float b) const { return a + b; }
};

/// Arrays are aligned to 16 bytes. Elements past the last whole 16 bytes are processed one by
/// one.
template <class Function, class T>
__global__ void __launch_bounds__(kPairwiseBlock)
    pairwise_kernel(const T* a, const T* b, T* out, std::int64_t n) {
  constexpr Function function;
  constexpr int kW = static_cast<int>(kWidestAccess / sizeof(T));
  const std::int64_t first =
      (static_cast<std::int64_t>(blockIdx.x) * kPairwiseBlock + threadIdx.x) * kW;
  if (first + kW <= n) {
    float u[kW], v[kW];
    load_floats(a + first, u);
    load_floats(b + first, v);
#pragma unroll
    for (int i = 0; i < kW; ++i)
      u[i] = function(u[i], v[i]);
    store_floats(out + first, u);
  } else {
#pragma unroll 1
    for (std::int64_t i = first; i < n; ++i)
      out[i] = from_float<T>(function(static_cast<float>(a[i]), static_cast<float>(b[i])));
  }
}

template <class Function, class T>
Steps pairwise(const T* a, const T* b, T* out, std::int64_t n) {
  const Shape s =
      shape_of_tiles(n, kPairwiseBlock * kWidestAccess / std::int64_t{sizeof(T)}, kPairwiseBlock);
  return launch(pairwise_kernel<Function, T>, s, a, b, out, n);
}

template <class T>
struct ExactProduct {
  const T* a;
  const T* b;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    const double product = to_double(a[i]) * to_double(b[i]);
    return {product, fabs(product)};
  }
};
}  // namespace gpuexp
