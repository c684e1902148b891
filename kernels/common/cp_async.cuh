// cp.async: asynchronous copies from global to shared memory without registers, so that a block
// computes on one tile while the next tiles are in flight. Compute capability 8.0.
#pragma once

#include <cuda_runtime.h>

namespace gpuexp {

/// Minimum compute capability of variants that use cp.async (Variant::min_compute_capability). On
/// older GPUs the functions below trap.
constexpr int kCpAsyncComputeCapability = 80;

/// Starts a copy of `bytes` bytes between addresses that are multiples of `bytes`. If `valid` is
/// false, the copy writes zeros and reads nothing. `src_global` must still point into a buffer,
/// because computing a pointer outside it is undefined behaviour.
template <int bytes>
__device__ inline void cp_async(void* dst_shared, const void* src_global, bool valid) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async moves 4, 8 or 16 bytes");
#if __CUDA_ARCH__ >= 800
  const unsigned dst = static_cast<unsigned>(__cvta_generic_to_shared(dst_shared));
  const int bytes_read = valid ? bytes : 0;
  if constexpr (bytes == 16) {
    // .cg caches only in L2. A block reads a tile once, so an L1 line would get no hit.
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(dst), "l"(src_global),
                 "r"(bytes_read)
                 : "memory");
  } else {
    // Copies of 4 and 8 bytes exist only with .ca (L1 and L2).
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(dst), "l"(src_global),
                 "n"(bytes), "r"(bytes_read)
                 : "memory");
  }
#else
  __trap();
#endif
}

/// Commits the copies that this thread has started since its last commit, as one group. The last
/// iterations of a loop commit empty groups, so that the number of pending groups stays the same.
__device__ inline void cp_async_commit() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#else
  __trap();
#endif
}

/// Waits until all but the newest `pending` groups of this thread have arrived. Copies of other
/// threads are visible only after these threads have waited and a barrier has followed.
template <int pending>
__device__ inline void cp_async_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#else
  __trap();
#endif
}

}  // namespace gpuexp
