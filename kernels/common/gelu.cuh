// GELU, x·Φ(x), with the approximation of the Gaussian's Φ by tanh (Hendrycks and Gimpel,
// "Gaussian Error Linear Units", 2016): on the device for 16-bit results, and in fp64.
#pragma once

#include <cmath>

#include "kernels/common/launch.cuh"

namespace gpuexp {

/// GELU by the tanh instruction of the special function unit, whose relative error is at most
/// 2^-11 (PTX ISA, tanh.approx). The error of GELU is at most 2^-12·|x|, for positive x less than
/// the error bound of rounding to bf16.
__device__ inline float gelu_tanh(float x) {
  float tanh_z;
  const float z = x * fmaf(0.035677408f, x * x, 0.79788456f);
  asm("tanh.approx.f32 %0, %1;" : "=f"(tanh_z) : "f"(z));
  const float half = 0.5f * x;
  return fmaf(half, tanh_z, half);
}

__host__ __device__ inline double exact_gelu_tanh(double x) {
  constexpr double kSqrtTwoOverPi = 0.79788456080286535588;
  return 0.5 * x * (1.0 + tanh(kSqrtTwoOverPi * (x + 0.044715 * x * x * x)));
}

}  // namespace gpuexp
