// Arithmetic of configurable cost for the sides of a branch ("ways"). All ways cost the same, and
// no two ways share code.
//
// Way w applies `cost` dependent fused multiply-adds to x:
//   x ← d + c·x  or  d - c·x,  the sign by bit (step mod 8) of w;  at the end  y = x + w
// The sign is part of the instruction, so a compiler cannot merge two ways into one loop over
// different data. The loops are too long for predication of both ways, or for a selection between
// two results. The final addition makes the results of two ways differ for every cost.
#pragma once

#include <cmath>

#include "kernels/common/reference.cuh"

namespace gpuexp::fma_way {

inline constexpr int kWays = 32;
inline constexpr int kMaxCost = 4096;

/// c is close to 1, so that y depends on x for every cost: after kMaxCost steps, e^-2 of x
/// remains. With d = 1 - c, all intermediate values stay in [-1, 1]. c and d are exact in fp32.
inline constexpr double kDecay = 0x1p-11;
inline constexpr double kC = 1.0 - kDecay;
inline constexpr double kD = kDecay;

inline constexpr int kSignPeriod = 8;

template <unsigned kWay>
__device__ inline float step(float x, float d, int i) {
  const bool minus = kWay >> i % kSignPeriod & 1;
  return minus ? fmaf(x, static_cast<float>(-kC), d) : fmaf(x, static_cast<float>(kC), d);
}

/// Result of way kWay. A dependent FMA issues 4 cycles after the previous one, so a scheduler needs
/// 4 warps to issue one FMA per cycle; with 2048 resident threads per SM, it has 16 warps. The loop
/// is unrolled by whole periods of the signs, so the sign of every step is known at compile time.
template <unsigned kWay>
__device__ inline float run(float x, int cost) {
  constexpr int kSteps = 2 * kSignPeriod;
  // Equals kD, because cost is never negative. The compiler cannot derive this value. If it
  // could, it would recreate the constant in every iteration, in one way by an instruction that
  // takes 3 % more time than in the other ways.
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

__host__ __device__ inline ReferenceElement exact(unsigned way, double x, int cost) {
  for (int i = 0; i < cost; ++i)
    x = fma(x, way >> i % kSignPeriod & 1 ? -kC : kC, kD);
  const double y = x + way;
  return {y, fabs(y)};
}

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
