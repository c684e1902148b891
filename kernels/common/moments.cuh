// Mean of some numbers, and the sum of their squared deviations from it (M2), as they are found one
// by one or put together of two parts.
#pragma once

#include <cuda_runtime.h>

namespace gpuexp {

struct Moments {
  float count = 0.0f;
  float mean = 0.0f;
  float m2 = 0.0f;
};

/// Of both parts (Chan, Golub and LeVeque 1983).
__device__ __forceinline__ Moments merged(const Moments& a, const Moments& b) {
  const float count = a.count + b.count;
  if (b.count == 0.0f) return a;
  const float share = b.count / count;
  const float apart = b.mean - a.mean;
  return {count, a.mean + apart * share, a.m2 + b.m2 + apart * apart * a.count * share};
}

/// With one more number (Welford 1962).
__device__ __forceinline__ void add_number(Moments& m, float value) {
  m.count += 1.0f;
  const float from_old = value - m.mean;
  m.mean += from_old / m.count;
  m.m2 += from_old * (value - m.mean);
}

/// Those of the lane whose number differs in the bits of `other`.
__device__ __forceinline__ Moments of_lane(const Moments& m, int other) {
  return {__shfl_xor_sync(~0u, m.count, other), __shfl_xor_sync(~0u, m.mean, other),
          __shfl_xor_sync(~0u, m.m2, other)};
}

}  // namespace gpuexp
