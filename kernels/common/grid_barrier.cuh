// Blocks that wait for other blocks, by counters in global memory.
#pragma once

#include <cuda_runtime.h>

namespace gpuexp {

/// By one thread: waits until others have added up to `least`, and sees what they wrote before.
__device__ inline void wait_until_at_least(const unsigned* counter, unsigned least) {
  unsigned now;
  do {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                 : "=r"(now)
                 : "l"(__cvta_generic_to_global(counter))
                 : "memory");
  } while (now < least);
}

/// By all threads of all blocks, which must be resident at once: waits until all have come, and
/// sees what they wrote before. `arrived` begins at zero; each time adds gridDim.x to it, at most
/// 2^32 - 1 in all.
__device__ inline void wait_for_grid(unsigned* arrived) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    const unsigned before = atomicAdd(arrived, 1);
    wait_until_at_least(arrived, (before / gridDim.x + 1) * gridDim.x);
  }
  __syncthreads();
}

}  // namespace gpuexp
