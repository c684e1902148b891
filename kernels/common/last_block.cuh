// The block that is the last of several to finish, and so sees what all have written.
#pragma once

#include <cuda_runtime.h>

namespace gpuexp {

/// By all threads of `blocks` blocks, once each: whether all others have been here. That block then
/// sees what thread 0 of each wrote before. `finished` begins at 0. Between two calls stands a
/// barrier of the block.
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

/// The same of all blocks of the grid.
__device__ inline bool is_last_block(unsigned* finished) {
  return is_last_of(gridDim.x, finished);
}

}  // namespace gpuexp
