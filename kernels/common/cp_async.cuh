// cp.async: copies from global to shared memory that go past the registers and complete later, so
// that a block computes on one tile while the next ones are on their way. Compute capability 8.0.
#pragma once

#include <cuda_runtime.h>

namespace gpuexp {

/// Variants that use cp.async set Variant::min_compute_capability to this; on older GPUs the calls
/// below trap.
constexpr int kCpAsyncComputeCapability = 80;

/// Starts copying `bytes` bytes; both pointers are aligned to `bytes`. Where `valid` is false,
/// zeros are written and nothing is read, but src must still be an address within the buffer: a
/// pointer that no thread may form is undefined behaviour even when it is not read through.
template <int bytes>
__device__ inline void cp_async(void* dst_shared, const void* src_global, bool valid) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async moves 4, 8 or 16 bytes");
#if __CUDA_ARCH__ >= 800
  const unsigned dst = static_cast<unsigned>(__cvta_generic_to_shared(dst_shared));
  const int bytes_read = valid ? bytes : 0;
  if constexpr (bytes == 16) {
    // .cg caches in L2 alone: a tile is read once per block, so a line in L1 would never be hit.
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(dst), "l"(src_global),
                 "r"(bytes_read)
                 : "memory");
  } else {
    // Narrower copies exist with .ca (L1 and L2) only.
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(dst), "l"(src_global),
                 "n"(bytes), "r"(bytes_read)
                 : "memory");
  }
#else
  __trap();
#endif
}

/// Closes the group of the copies that this thread started since its last commit. Groups may be
/// empty, so a loop's tail can go on committing to keep the count of pending groups right.
__device__ inline void cp_async_commit() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#else
  __trap();
#endif
}

/// Waits until at most the `pending` newest groups of this thread are still on their way. Other
/// threads' copies are visible only after a barrier that follows their own wait.
template <int pending>
__device__ inline void cp_async_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#else
  __trap();
#endif
}

}  // namespace gpuexp
