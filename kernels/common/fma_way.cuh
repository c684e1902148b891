// The ways of a branch: as much arithmetic as a lesson asks for, of equal cost in every way, in
// code that no two ways share.
//
// Way w takes x through `cost` fused multiply-adds, each of which waits for the one before:
//   x ← d + c·x  or  d - c·x,  the sign by bit (step mod 8) of w;  at the end  y = x + w
// The sign is part of an instruction, so two ways differ in their code, not in a number that could
// be selected ahead of one common loop; and as their loops are long, a compiler can neither execute
// both under predicates nor select between two short results. The last addition keeps the results
// of two ways apart whatever the cost.
#pragma once

#include <cmath>

#include "kernels/common/reference.cuh"

namespace gpuexp::fma_way {

inline constexpr int kWays = 32;
inline constexpr int kMaxCost = 4096;

/// c is so near to 1 that after kMaxCost steps e^-2 of x is still there: y depends on x at every
/// cost. With d = 1 - c all intermediate values stay in [-1, 1]. Both are exact in fp32.
inline constexpr double kDecay = 0x1p-11;
inline constexpr double kC = 1.0 - kDecay;
inline constexpr double kD = kDecay;

inline constexpr int kSignPeriod = 8;

template <unsigned kWay>
__device__ inline float step(float x, float d, int i) {
  const bool minus = kWay >> i % kSignPeriod & 1;
  return minus ? fmaf(x, static_cast<float>(-kC), d) : fmaf(x, static_cast<float>(kC), d);
}

/// One result of way kWay. A dependent FMA takes 4 cycles from issue to issue, so a scheduler needs
/// 4 warps to issue one per cycle; it has 16 where 2048 threads are resident. Every step is
/// unrolled by whole periods: the sign is known to the compiler.
template <unsigned kWay>
__device__ inline float run(float x, int cost) {
  constexpr int kSteps = 2 * kSignPeriod;
  // kD, which nobody but the programmer knows: cost is never negative. A constant would be made
  // anew in every iteration of the loop, in one way by an instruction that takes 3 % longer than in
  // another.
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

/// The same in fp64.
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
    "u = 2^-24. All intermediate values lie in [-1, 1], where rounding errs by at most u/2, and "
    "each step multiplies the error so far by c < 1, so cost steps err by at most cost·u/2. Adding "
    "the way's number rounds once more: u·|y|, and another u·|y| for second-order terms. The RMS "
    "error over all elements: a step's error is spread evenly over ±u/2, RMS u/√12, independent of "
    "those before (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.5), "
    "and shrinks by c² per step in the square, c = 1 - 2^-11: u·√((1 - c^(2·cost))/(1 - c²)/12), "
    "at most 9.2·u; the last addition adds 0.42·u·|y|. Twice both is allowed, and for chance the "
    "bound per element times √(32/elements) (Bernstein's inequality, probability 1e-14). x that "
    "starts beside its limit of 1 moves by less than its last digit, and all roundings have one "
    "sign: few do, and the RMS error of way 0 is 1.4 times the model's at the largest cost.";

inline Tolerance tolerance(int cost) {
  const double u = unit_roundoff(DataType::fp32);
  const double steps = (1.0 - std::pow(kC, 2.0 * cost)) / (1.0 - kC * kC);
  return {2.0 * u, 0.5 * cost * u, kRmsSafety * rounding_rms(DataType::fp32),
          kRmsSafety * u * std::sqrt(steps / 12.0)};
}

}  // namespace gpuexp::fma_way
