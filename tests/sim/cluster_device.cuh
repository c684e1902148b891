// Device functions and launches of kernels whose blocks form clusters.
#pragma once

#include "kernels/common/launch.cuh"

namespace gpuexp::test::clustered {

__device__ inline unsigned shared_address(const void* at) {
  return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

/// Address of the same location in the shared memory of block `rank`.
__device__ inline unsigned mapped(unsigned address, unsigned rank) {
  unsigned result;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(result) : "r"(address), "r"(rank));
  return result;
}

template <class T>
__device__ inline T* mapped(T* at, unsigned rank) {
  T* result;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(result) : "l"(at), "r"(rank));
  return result;
}

__device__ inline unsigned cluster_rank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ inline unsigned cluster_size() {
  unsigned size;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return size;
}

__device__ inline unsigned next_rank() {
  return (cluster_rank() + 1) % cluster_size();
}

__device__ inline void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ inline void init_barrier(const void* barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(arrivals)
               : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ inline void expect_bytes(const void* barrier, unsigned bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}

__device__ inline void wait_for(const void* barrier, unsigned parity) {
  unsigned is_over = 0;
  while (is_over == 0) {
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; "
        "selp.b32 %0, 1, 0, p; }"
        : "=r"(is_over)
        : "r"(shared_address(barrier)), "r"(parity)
        : "memory");
  }
}

__device__ inline unsigned thread_in_grid() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}

template <class... Parameters, class... Arguments>
Steps clusters_of(void (*kernel)(Parameters...), int blocks, int threads, int clusters,
                  Arguments... arguments) {
  Shape shape;
  shape.grid.x = blocks * clusters;
  shape.block.x = threads;
  shape.cluster.x = blocks;
  return launch(kernel, shape, arguments...);
}

}  // namespace gpuexp::test::clustered
