// Thread block clusters: access to the shared memory of other blocks (PTX ISA, "Cluster of thread
// blocks").
#pragma once

#include <cuda_runtime.h>

namespace gpuexp {

inline constexpr int kClusterComputeCapability = 90;
/// Cluster size that every device with clusters supports (CUDA C++ Programming Guide, "Thread
/// Block Clusters").
inline constexpr int kMaxClusterBlocks = 8;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/// Maps a shared-memory address to the same offset in the shared memory of block `rank` of the
/// cluster.
__device__ inline unsigned map_shared_rank(unsigned address, unsigned rank) {
  unsigned mapped;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}

__device__ inline unsigned load_cluster_shared(unsigned address) {
  unsigned word;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
  return word;
}

/// Barrier of all threads of the cluster. Stores before the barrier are visible to all these
/// threads after it.
__device__ inline void sync_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ inline unsigned cluster_rank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ inline unsigned cluster_blocks() {
  unsigned blocks;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
  return blocks;
}

#else

__device__ inline unsigned map_shared_rank(unsigned, unsigned) {
  __trap();
  return 0;
}
__device__ inline unsigned load_cluster_shared(unsigned) {
  __trap();
  return 0;
}
__device__ inline void sync_cluster() {
  __trap();
}
__device__ inline unsigned cluster_rank() {
  __trap();
  return 0;
}
__device__ inline unsigned cluster_blocks() {
  __trap();
  return 0;
}

#endif

}  // namespace gpuexp
