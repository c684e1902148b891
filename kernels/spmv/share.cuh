// Row sums of products in shared memory, for csr_adaptive.
#pragma once

#include "kernels/spmv/csr.cuh"

namespace gpuexp::spmv {

constexpr int kShare = 2048;  // nonzeros per block

template <int kLanes>
__device__ __forceinline__ float sum_of_lanes(float sum) {
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2)
    sum += __shfl_down_sync(kAllLanes, sum, step, kLanes);
  return sum;
}

__device__ __forceinline__ float block_sum(float sum) {
  __shared__ float of_warps[kWarps];
  sum = sum_of_lanes<kWarp>(sum);
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = sum;
  __syncthreads();
  sum = 0.0f;
#pragma unroll
  for (int w = 0; w < kWarps; ++w)
    sum += of_warps[w];
  __syncthreads();
  return sum;
}

// Products in shared memory, indexed relative to the share's first nonzero. The last row may extend
// into the next share. One padding word per 32 words avoids bank conflicts of rows whose lengths
// are powers of two.
struct ShareProducts {
  float words[2 * kShare + 2 * kShare / kWarp];
  __device__ __forceinline__ float& operator[](int i) { return words[i + i / kWarp]; }
};

// Adds this block's part of a row that spans several blocks to y, atomically.
__device__ __forceinline__ void add_part(float* y, ShareProducts& products, int begin, int end) {
  float sum = 0.0f;
  for (int i = begin + threadIdx.x; i < end; i += kBlock)
    sum += products[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) atomicAdd(y, sum);
}

// Stores the sums of `rows` rows starting at `first_row`, with kLanes lanes per row. Rows longer
// than kLong would delay the other rows of their warp; all lanes of the warp sum these rows one
// after another.
template <int kLanes>
__device__ __forceinline__ void add_rows(const Csr& m, int first_row, int rows,
                                         ShareProducts& products, int share_begin) {
  constexpr int kLong = 16 * kLanes;
  const int lane = threadIdx.x % kWarp;
#pragma unroll 1
  for (int of_block = 0; of_block < rows; of_block += kBlock / kLanes) {
    const int row = first_row + of_block + threadIdx.x / kLanes;
    const bool is_row = row < first_row + rows;
    const int begin = is_row ? m.offsets[row] - share_begin : 0;
    const int end = is_row ? m.offsets[row + 1] - share_begin : 0;
    const bool is_short = end - begin <= kLong;
    float sum = 0.0f;
    for (int i = begin + lane % kLanes; is_short && i < end; i += kLanes)
      sum += products[i];
    sum = sum_of_lanes<kLanes>(sum);
    if (is_row && is_short && lane % kLanes == 0) m.y[row] = sum;
    unsigned left = __ballot_sync(kAllLanes, !is_short && lane % kLanes == 0);
    for (; left != 0; left &= left - 1) {
      const int of = __ffs(static_cast<int>(left)) - 1;
      const int long_end = __shfl_sync(kAllLanes, end, of);
      float part = 0.0f;
      for (int i = __shfl_sync(kAllLanes, begin, of) + lane; i < long_end; i += kWarp)
        part += products[i];
      part = sum_of_lanes<kWarp>(part);
      const int long_row = __shfl_sync(kAllLanes, row, of);
      if (lane == 0) m.y[long_row] = part;
    }
  }
}

}  // namespace gpuexp::spmv
