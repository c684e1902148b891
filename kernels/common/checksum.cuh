// Checksums of floats: sums of their bit patterns as integers modulo 2^32. Sums are exact in any
// order, and a single wrong bit changes them.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/common/reference.cuh"

namespace gpuexp {

__host__ __device__ inline std::uint32_t bits_sum(float v) {
  std::uint32_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  return bits;
}
__device__ inline std::uint32_t bits_sum(float2 v) {
  return __float_as_uint(v.x) + __float_as_uint(v.y);
}
__device__ inline std::uint32_t bits_sum(float4 v) {
  return __float_as_uint(v.x) + __float_as_uint(v.y) + __float_as_uint(v.z) + __float_as_uint(v.w);
}
__device__ inline std::uint32_t bits_sum(uint4 v) {
  return v.x + v.y + v.z + v.w;
}

/// Reference checksums of contiguous chunks of chunk_size floats; n is the number of floats. Each
/// chunk is summed `passes` times.
struct ChunkChecksum {
  const float* in;
  std::int64_t n;
  std::int64_t chunk_size;
  std::int64_t passes;
  __host__ __device__ ReferenceElement operator()(std::int64_t chunk) const {
    std::uint32_t sum = 0;
    for (std::int64_t i = chunk * chunk_size; i < n && i < (chunk + 1) * chunk_size; ++i)
      sum += bits_sum(in[i]);
    return {static_cast<double>(sum * static_cast<std::uint32_t>(passes)), 0.0};
  }
};

/// Sum over the lanes of the warp; only lane 0 gets it.
__device__ inline std::uint32_t warp_sum(std::uint32_t sum) {
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    sum += __shfl_down_sync(~0u, sum, offset);
  return sum;
}

/// Sum over a block of kThreads threads; only thread 0 gets it. A block may call this once.
template <int kThreads>
__device__ std::uint32_t block_sum(std::uint32_t sum) {
  __shared__ std::uint32_t warp_sums[kThreads / kWarp];
  sum = warp_sum(sum);
  if (threadIdx.x % kWarp == 0) warp_sums[threadIdx.x / kWarp] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < kThreads / kWarp; ++warp)
      sum += warp_sums[warp];
  }
  return sum;
}

}  // namespace gpuexp
