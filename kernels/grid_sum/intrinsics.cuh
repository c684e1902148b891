// Load with cache hints for grid_sum/tile_hinted, and block sum with cooperative groups for
// grid_sum/cooperative.
#pragma once

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "kernels/common/number_sums.cuh"

namespace gpuexp::grid_sum {

using namespace number_sums;

struct HintedLoad {
  template <class T>
  __device__ Pack<T, kWidth<T>> operator()(const T* from) const {
    uint4 word;
    asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "l"(__cvta_generic_to_global(from)));
    Pack<T, kWidth<T>> pack;
    memcpy(&pack, &word, sizeof word);
    return pack;
  }
};

namespace cg = cooperative_groups;

/// Returns the sum of the block's values to every thread. All threads of the block must call it.
__device__ __forceinline__ float group_block_sum(float sum) {
  __shared__ float of_warps[kBlock / 32];
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const float of_warp = cg::reduce(warp, sum, cg::plus<float>());
  if (warp.thread_rank() == 0) of_warps[warp.meta_group_rank()] = of_warp;
  __syncthreads();
  float of_block = 0.0f;
  for (unsigned i = 0; i < warp.meta_group_size(); ++i)
    of_block += of_warps[i];
  return of_block;
}

}  // namespace gpuexp::grid_sum
