// st.async: stores to another block's shared memory that signal their arrival at an mbarrier of
// that block.
#pragma once

#include "kernels/common/bulk_copy.cuh"
#include "kernels/common/cluster.cuh"

namespace gpuexp {

/// First half of a barrier of all threads of the cluster; wait_for_cluster() is the second half.
/// The barrier does not wait for earlier stores. After it, all blocks can use mbarriers that were
/// initialized before it (init_barriers).
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

/// If `pushes`, stores a word to another block's shared memory, and signals 4 bytes at an
/// mbarrier of that block. `to` and `barrier` are addresses from map_shared_rank().
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

/// Like push_word() for 16 bytes; `to` is a multiple of 16.
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
