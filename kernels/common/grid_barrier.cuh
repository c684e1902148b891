// Waits for other blocks of the grid, by counters in global memory.
#pragma once

#include <cuda_runtime.h>

namespace gpuexp {

/// Waits until the counter is at least `minimum`. Stores that other threads made before they
/// increased the counter are then visible. One thread calls this.
__device__ inline void wait_until_at_least(const unsigned* counter, unsigned minimum) {
  unsigned now;
  do {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                 : "=r"(now)
                 : "l"(__cvta_generic_to_global(counter))
                 : "memory");
  } while (now < minimum);
}

/// Barrier of all threads of all blocks, which must be resident at the same time. Stores before the
/// barrier are visible after it. `arrived` starts at 0. Each barrier adds gridDim.x; the total must
/// be at most 2^32 - 1.
__device__ inline void sync_grid(unsigned* arrived) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    const unsigned before = atomicAdd(arrived, 1);
    wait_until_at_least(arrived, (before / gridDim.x + 1) * gridDim.x);
  }
  __syncthreads();
}

}  // namespace gpuexp
