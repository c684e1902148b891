// A partially unrolled loop with a run-time trip count.
#pragma once

#include <cuda_runtime.h>

namespace gpuexp {

/// Calls step() `steps` times, with kUnrolled calls per iteration.
template <int kUnrolled, class Step>
__device__ __forceinline__ void repeat(int steps, Step step) {
  int left = steps;
#pragma unroll 1
  for (; left >= kUnrolled; left -= kUnrolled) {
#pragma unroll
    for (int i = 0; i < kUnrolled; ++i)
      step();
  }
#pragma unroll 1
  for (; left > 0; --left)
    step();
}

}  // namespace gpuexp
