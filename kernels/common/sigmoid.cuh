// The logistic function s(x) = 1/(1 + exp(-x)): two versions in fp32, and one in fp64.
#pragma once

#include <cmath>

#include <cuda_runtime.h>

namespace gpuexp {

/// s(x) by the instructions ex2 and rcp of the special function unit, with scaled operands. For
/// |x| <= 3, the relative error is at most kFastSigmoidError.
__device__ inline float fast_sigmoid(float x) {
  return __fdividef(1.0f, 1.0f + __expf(-x));
}

/// s(x) by expf and a correctly rounded division. The relative error is at most kSigmoidError.
__device__ inline float sigmoid(float x) {
  return 1.0f / (1.0f + expf(-x));
}

__host__ __device__ inline double exact_sigmoid(double x) {
  return 1.0 / (1.0 + exp(-x));
}

template <class Real>
__host__ __device__ Real sigmoid_slope(Real s) {
  return s * (Real{1} - s);
}

/// Bounds on the relative errors (CUDA C++ Programming Guide, mathematical functions). The error
/// of __expf is at most 2 + floor(1.173·|x|) ulp, 5 ulp for |x| <= 3. The errors of __fdividef
/// and expf are at most 2 ulp each. An ulp is at most 2^-23 of the value. 1 + exp(-x) has at most
/// the relative error of exp(-x) plus one rounding. The division of sigmoid() also has one
/// rounding.
constexpr double kFastSigmoidError = (2 * 5 + 1 + 2 * 2) * 0x1p-24;
constexpr double kSigmoidError = (2 * 2 + 1 + 1) * 0x1p-24;

}  // namespace gpuexp
