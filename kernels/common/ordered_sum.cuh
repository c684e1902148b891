// Block sums of floats in a fixed order, so that results are bitwise identical in all launches.
#pragma once

#include <cuda_runtime.h>

namespace gpuexp {

/// Sum over a block of kThreads threads; only thread 0 gets it. A block needs a barrier between
/// two calls.
template <int kThreads>
__device__ float ordered_block_sum(float sum) {
  constexpr int kLanes = 32;
  __shared__ float warp_sums[kThreads / kLanes];
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2)
    sum += __shfl_down_sync(~0u, sum, offset);
  if (threadIdx.x % kLanes == 0) warp_sums[threadIdx.x / kLanes] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
#pragma unroll
    for (int warp = 1; warp < kThreads / kLanes; ++warp)
      sum += warp_sums[warp];
  }
  return sum;
}

}  // namespace gpuexp
