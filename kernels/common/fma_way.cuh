// Arithmetic for the ways of a branch. Its amount is configurable, every way costs the same, and no
// two ways share code.
//
// Way w applies `cost` fused multiply-adds to x, each of which depends on the previous one:
//   x ← d + c·x  or  d - c·x,  the sign by bit (step mod 8) of w;  at the end  y = x + w
// The sign is part of an instruction, so two ways differ in their code, not in a number that could
// be selected before a common loop. Because their loops are long, a compiler can neither predicate
// both nor select between two short results. The final addition makes the results of two ways
// differ at any cost.
#pragma once

#include <cmath>

#include "kernels/common/reference.cuh"

namespace gpuexp::fma_way {

inline constexpr int kWays = 32;
inline constexpr int kMaxCost = 4096;

/// c is close to 1: after kMaxCost steps, e^-2 of x remains, so y depends on x at every cost. With
/// d = 1 - c, all intermediate values stay in [-1, 1]. c and d are exact in fp32.
inline constexpr double kDecay = 0x1p-11;
inline constexpr double kC = 1.0 - kDecay;
inline constexpr double kD = kDecay;

inline constexpr int kSignPeriod = 8;

template <unsigned kWay>
__device__ inline float step(float x, float d, int i) {
  const bool minus = kWay >> i % kSignPeriod & 1;
  return minus ? fmaf(x, static_cast<float>(-kC), d) : fmaf(x, static_cast<float>(kC), d);
}

/// Returns the result of way kWay. A dependent FMA issues 4 cycles after the previous one, so a
/// scheduler needs 4 warps to issue one per cycle. It has 16 if 2048 threads are resident. The loop
/// is unrolled by whole sign periods, so the compiler knows the sign of every step.
template <unsigned kWay>
__device__ inline float run(float x, int cost) {
  constexpr int kSteps = 2 * kSignPeriod;
  // The value is kD, because cost is never negative, but the compiler cannot derive this. It would
  // create a constant again in every iteration of the loop, in one way with an instruction that
  // takes 3 % longer than in another.
  const float d = __int_as_float(__float_as_int(static_cast<float>(kD)) + (cost >> 31));
  int left = cost;
#pragma unroll 2
  for (; left >= kSteps; left -= kSteps) {
#pragma unroll
    for (int i = 0; i < kSteps; ++i)
      x = step<kWay>(x, d, i);
  }
#pragma unroll
  for (int i = 0; i < kSteps - 1; ++i) {
    if (i == left) break;
    x = step<kWay>(x, d, i);
  }
  return x + static_cast<float>(kWay);
}

/// Result of way `way` in fp64.
__host__ __device__ inline ReferenceElement exact(unsigned way, double x, int cost) {
  for (int i = 0; i < cost; ++i)
    x = fma(x, way >> i % kSignPeriod & 1 ? -kC : kC, kD);
  const double y = x + way;
  return {y, fabs(y)};
}

/// Floating-point operations per element.
inline double operations(int cost) {
  return 2.0 * cost + 1.0;
}

inline const char* const kToleranceDerivation =
    "u = 2^-24. All intermediate values lie in [-1, 1], where a rounding has an error of at most "
    "u/2. Each step multiplies the previous error by c < 1, so cost steps have an error of at most "
    "cost·u/2. Adding the way's number rounds once more: u·|y|, and another u·|y| for second-order "
    "terms. The RMS error over all elements: the error of a step is uniformly distributed over "
    "±u/2, with RMS u/√12, independent of the previous ones (Higham, Accuracy and Stability of "
    "Numerical Algorithms, 2nd ed., section 4.5). Its square shrinks by c² per step, c = 1 - "
    "2^-11. The steps sum to u·√((1 - c^(2·cost))/(1 - c²)/12), at most 9.2·u; the last addition "
    "adds 0.42·u·|y|. The tolerance allows twice both, and for chance the bound per element times "
    "√(32/elements) (Bernstein's inequality, probability 1e-14). If x starts near its limit of 1, "
    "it changes by less than its last digit, and all its roundings have the same sign. Few "
    "elements do this, and the RMS error of way 0 is 1.4 times the modelled error at the largest "
    "cost.";

inline Tolerance tolerance(int cost) {
  const double u = unit_roundoff(DataType::fp32);
  const double steps = (1.0 - std::pow(kC, 2.0 * cost)) / (1.0 - kC * kC);
  return {2.0 * u, 0.5 * cost * u, kRmsSafety * rounding_rms(DataType::fp32),
          kRmsSafety * u * std::sqrt(steps / 12.0)};
}

}  // namespace gpuexp::fma_way
