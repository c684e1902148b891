// Sums of floats over a block in an order that the code fixes: equal bits, launch after launch.
#pragma once

#include <cuda_runtime.h>

namespace gpuexp {

/// The sum of one value per thread of a block of kThreads; thread 0 has it. Between two calls
/// stands a barrier of the block.
template <int kThreads>
__device__ float ordered_block_sum(float sum) {
  constexpr int kLanes = 32;
  __shared__ float of_warps[kThreads / kLanes];
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2)
    sum += __shfl_down_sync(~0u, sum, offset);
  if (threadIdx.x % kLanes == 0) of_warps[threadIdx.x / kLanes] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
#pragma unroll
    for (int warp = 1; warp < kThreads / kLanes; ++warp)
      sum += of_warps[warp];
  }
  return sum;
}

}  // namespace gpuexp
