// The logistic function, s(x) = 1/(1 + exp(-x)), in fp32 two ways and in fp64.
#pragma once

#include <cmath>

#include <cuda_runtime.h>

namespace gpuexp {

/// By two instructions of the special function unit, ex2 and rcp, and what scales their operands.
/// Within kFastSigmoidError of the value for |x| <= 3.
__device__ inline float fast_sigmoid(float x) {
  return __fdividef(1.0f, 1.0f + __expf(-x));
}

/// By expf and a division that is rounded to nearest. Within kSigmoidError of the value.
__device__ inline float sigmoid(float x) {
  return 1.0f / (1.0f + expf(-x));
}

__host__ __device__ inline double exact_sigmoid(double x) {
  return 1.0 / (1.0 + exp(-x));
}

/// s'(x) by the value s(x): no exponential is needed for it.
template <class Real>
__host__ __device__ Real sigmoid_slope(Real s) {
  return s * (Real{1} - s);
}

/// Relative errors (CUDA C++ Programming Guide, mathematical functions): __expf is off by
/// 2 + floor(1.173·|x|) ulp, 5 for |x| <= 3, __fdividef by 2, expf by 2; an ulp is 2^-23 of the
/// value at most. exp(-x) is at most all of the sum, which is rounded once, as the quotient of
/// sigmoid() is.
constexpr double kFastSigmoidError = (2 * 5 + 1 + 2 * 2) * 0x1p-24;
constexpr double kSigmoidError = (2 * 2 + 1 + 1) * 0x1p-24;

}  // namespace gpuexp
