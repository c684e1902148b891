// GELU and its derivative by the logistic function, for 16-bit and fp32 results.
#pragma once

#include "kernels/common/sigmoid.cuh"

namespace gpuexp {

/// gelu(x) = x·s(z) is the approximation by tanh (gelu.cuh), where s(z) = (1 + tanh(z/2))/2. The
/// slope s + x·s'·z' is the sum of `first` and `second`.
template <class Real>
struct GeluSlope {
  Real s, z_slope, first, second;
};
template <class Real, class Sigmoid>
__host__ __device__ GeluSlope<Real> gelu_slope(Real x, Sigmoid sigmoid) {
  constexpr auto kScale = static_cast<Real>(2 * 0.79788456080286535588);  // 2·√(2/π)
  constexpr auto kCubic = static_cast<Real>(0.044715);
  const Real square = x * x;
  const Real s = sigmoid(kScale * x * (Real{1} + kCubic * square));
  const Real z_slope = kScale * (Real{1} + 3 * kCubic * square);
  return {s, z_slope, s, x * sigmoid_slope(s) * z_slope};
}

}  // namespace gpuexp
