// Stores to another block's shared memory that bring their own notice, as bulk copies do: st.async,
// whose bytes arrive at a barrier of that block.
#pragma once

#include "kernels/common/bulk_copy.cuh"
#include "kernels/common/cluster.cuh"

namespace gpuexp {

/// All threads of the cluster wait for each other, and no store for anyone; barriers that were made
/// ready before are for all blocks to use (init_barriers).
__device__ inline void arrive_in_cluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#else
  __trap();
#endif
}
__device__ inline void wait_for_cluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
  __trap();
#endif
}

/// Where it `pushes`, stores a word to another block's shared memory, whose bytes arrive at a
/// barrier of that block: addresses that mapped_shared gave.
__device__ inline void push_word(bool pushes, unsigned to, unsigned word, unsigned barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n"
      ".reg .pred pushes;\n"
      "setp.ne.u32 pushes, %3, 0;\n"
      "@pushes st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];\n"
      "}" ::"r"(to),
      "r"(word), "r"(barrier), "r"(static_cast<unsigned>(pushes))
      : "memory");
#else
  __trap();
#endif
}

/// Likewise 16 bytes, to a multiple of as many.
__device__ inline void push_words(unsigned to, const float (&words)[4], unsigned barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, "
      "[%5];" ::"r"(to),
      "f"(words[0]), "f"(words[1]), "f"(words[2]), "f"(words[3]), "r"(barrier)
      : "memory");
#else
  __trap();
#endif
}

}  // namespace gpuexp
