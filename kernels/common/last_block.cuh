// The block of a grid that is the last to finish, and so sees what all have written.
#pragma once

#include <cuda_runtime.h>

namespace gpuexp {

/// By all threads of all blocks, once each: whether the others have been here. The last block then
/// sees what thread 0 of each wrote before, by loads past L1. `finished` begins at 0.
__device__ inline bool is_last_block(unsigned* finished) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicAdd(finished, 1u) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  return is_last;
}

}  // namespace gpuexp
