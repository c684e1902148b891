// Count, mean and sum of squared deviations from the mean (M2) of numbers: update by one number,
// and merge of two sets.
#pragma once

#include <cuda_runtime.h>

namespace gpuexp {

struct Moments {
  float count = 0.0f;
  float mean = 0.0f;
  float m2 = 0.0f;
};

/// Moments of the union of two sets (Chan, Golub and LeVeque 1983).
__device__ __forceinline__ Moments merged(const Moments& a, const Moments& b) {
  const float count = a.count + b.count;
  if (b.count == 0.0f) return a;
  const float share = b.count / count;
  const float difference = b.mean - a.mean;
  return {count, a.mean + difference * share,
          a.m2 + b.m2 + difference * difference * a.count * share};
}

/// Adds a number to the moments (Welford 1962).
__device__ __forceinline__ void add_value(Moments& m, float value) {
  m.count += 1.0f;
  const float deviation = value - m.mean;
  m.mean += deviation / m.count;
  m.m2 += deviation * (value - m.mean);
}

__device__ __forceinline__ Moments shuffle_xor(const Moments& m, int other) {
  return {__shfl_xor_sync(~0u, m.count, other), __shfl_xor_sync(~0u, m.mean, other),
          __shfl_xor_sync(~0u, m.m2, other)};
}

}  // namespace gpuexp
