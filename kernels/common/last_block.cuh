// Detection of the last block to finish, which can read the results of all other blocks.
#pragma once

#include <cuda_runtime.h>

namespace gpuexp {

/// Returns true in the last of `blocks` blocks that call this. All threads of a block call it.
/// Stores that thread 0 of each block made before the call are visible to the last block.
/// `finished` starts at 0. A block needs a barrier between two calls.
__device__ inline bool is_last_of(unsigned blocks, unsigned* finished) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicAdd(finished, 1u) == blocks - 1;
    __threadfence();
  }
  __syncthreads();
  return is_last;
}

__device__ inline bool is_last_block(unsigned* finished) {
  return is_last_of(gridDim.x, finished);
}

}  // namespace gpuexp
