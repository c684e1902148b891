// The logistic function s(x) = 1/(1 + exp(-x)): two versions in fp32, and one in fp64.
#pragma once

#include <cmath>

#include <cuda_runtime.h>

namespace gpuexp {

/// Computes s(x) by two instructions of the special function unit, ex2 and rcp, and the scaling of
/// their operands. The relative error is at most kFastSigmoidError for |x| <= 3.
__device__ inline float fast_sigmoid(float x) {
  return __fdividef(1.0f, 1.0f + __expf(-x));
}

/// Computes s(x) by expf and a division rounded to nearest. The relative error is at most
/// kSigmoidError.
__device__ inline float sigmoid(float x) {
  return 1.0f / (1.0f + expf(-x));
}

__host__ __device__ inline double exact_sigmoid(double x) {
  return 1.0 / (1.0 + exp(-x));
}

/// Returns s'(x) for s = s(x), without another exponential.
template <class Real>
__host__ __device__ Real sigmoid_slope(Real s) {
  return s * (Real{1} - s);
}

/// Bounds on the relative errors (CUDA C++ Programming Guide, mathematical functions). The error of
/// __expf is at most 2 + floor(1.173·|x|) ulp, 5 for |x| <= 3. The errors of __fdividef and expf
/// are at most 2 ulp each. An ulp is at most 2^-23 of the value. The relative error of the sum is
/// at most the relative error of exp(-x) plus one rounding. The division of sigmoid() is also
/// rounded once.
constexpr double kFastSigmoidError = (2 * 5 + 1 + 2 * 2) * 0x1p-24;
constexpr double kSigmoidError = (2 * 2 + 1 + 1) * 0x1p-24;

}  // namespace gpuexp
