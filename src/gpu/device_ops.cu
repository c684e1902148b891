#include <stdexcept>

#include <cuda_runtime.h>

#include "gpu/cuda_check.hpp"
#include "gpu/device_ops.hpp"
#include "kernels/common/types.cuh"

namespace gpuexp::device_ops {

constexpr int kBlock = 256;
constexpr int kWarp = 32;

template <class T>
__device__ T warp_sum(T x) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    x += __shfl_down_sync(~0u, x, offset);
  return x;
}

// Sums over the block's threads; valid in thread 0. The tree has a fixed order, because sums of
// doubles depend on the order.
__device__ ComparisonSums block_sums(const ComparisonSums& mine) {
  // Raw bytes, because variables in shared memory cannot have constructors.
  __shared__ alignas(ComparisonSums) unsigned char space[kBlock * sizeof(ComparisonSums)];
  auto* const sums = reinterpret_cast<ComparisonSums*>(space);
  sums[threadIdx.x] = mine;
  for (unsigned half = kBlock / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      sums[threadIdx.x] = combined(sums[threadIdx.x], sums[threadIdx.x + half]);
  }
  return sums[0];
}

template <class T>
__global__ void compare_kernel(const T* got, Comparison c, ComparisonSums* of_block) {
  ComparisonSums mine;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kBlock;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x; i < c.count;
       i += stride)
    mine = combined(mine, compared(to_double(got[i]), c, i));
  const ComparisonSums all = block_sums(mine);
  if (threadIdx.x == 0) of_block[blockIdx.x] = all;
}

__global__ void combine_kernel(ComparisonSpace* space, int blocks) {
  ComparisonSums mine;
  for (int block = static_cast<int>(threadIdx.x); block < blocks; block += kBlock)
    mine = combined(mine, space->of_block[block]);
  const ComparisonSums all = block_sums(mine);
  if (threadIdx.x == 0) space->sums = all;
}

__global__ void guard_kernel(const unsigned char* begin, std::int64_t bytes, unsigned char pattern,
                             unsigned long long* changed) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i < bytes && begin[i] != pattern) atomicAdd(changed, 1ull);
}

// The 64-bit finalizer of MurmurHash3 (Austin Appleby, public domain): a bijection in which every
// input bit affects every output bit.
__device__ inline unsigned long long scrambled(unsigned long long x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ull;
  return x ^ x >> 33;
}

// The sum of integers does not depend on the order of the threads.
__global__ void fingerprint_kernel(const unsigned char* begin, std::int64_t bytes,
                                   unsigned long long* sum) {
  constexpr int kWord = sizeof(unsigned long long);
  const auto* const words = reinterpret_cast<const unsigned long long*>(begin);
  const std::int64_t count = bytes / kWord;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kBlock;
  const auto at_place = [](unsigned long long word, std::int64_t place) {
    return scrambled(word ^ scrambled(static_cast<unsigned long long>(place) + 1));
  };
  unsigned long long mine = 0;
  for (std::int64_t i = first; i < count; i += stride)
    mine += at_place(words[i], i);
  const std::int64_t rest = count * kWord + first;
  if (rest < bytes) mine += at_place(begin[rest], rest);
  mine = warp_sum(mine);
  if (threadIdx.x % kWarp == 0) atomicAdd(sum, mine);
}

__global__ void flush_kernel(const uint4* buffer, std::int64_t count, unsigned* sink) {
  unsigned any = 0;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kBlock;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x; i < count;
       i += stride) {
    const uint4 v = buffer[i];
    any |= v.x | v.y | v.z | v.w;
  }
  // The buffer contains zeros, so this store never executes. It keeps the compiler from removing
  // the loads.
  if (any != 0) *sink = any;
}

__device__ unsigned long long global_nanoseconds() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}

__global__ void clock_stamp_kernel(long long* stamps, unsigned sm_count) {
  unsigned sm;
  asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
  if (sm >= sm_count) return;
  stamps[2 * sm] = clock64();
  stamps[2 * sm + 1] = static_cast<long long>(global_nanoseconds());
}

__global__ void empty_kernel() {}

template <class T>
void queue_comparison_as(const Comparison& c, ComparisonSpace* d_space, cudaStream_t stream) {
  const std::int64_t blocks = ceil_div(c.count, kBlock);
  const int grid = static_cast<int>(blocks < kComparisonBlocks ? blocks : kComparisonBlocks);
  compare_kernel<T>
      <<<grid, kBlock, 0, stream>>>(static_cast<const T*>(c.got), c, d_space->of_block);
  GPUEXP_CUDA(cudaGetLastError());
  combine_kernel<<<1, kBlock, 0, stream>>>(d_space, grid);
  GPUEXP_CUDA(cudaGetLastError());
}

}  // namespace gpuexp::device_ops

namespace gpuexp {

void queue_comparison(const Comparison& c, ComparisonSpace* d_space, CUstream_st* stream) {
  using namespace device_ops;
  switch (c.type) {
    case DataType::fp64: return queue_comparison_as<double>(c, d_space, stream);
    case DataType::fp32:
    case DataType::tf32: return queue_comparison_as<float>(c, d_space, stream);
    case DataType::fp16: return queue_comparison_as<__half>(c, d_space, stream);
    case DataType::bf16: return queue_comparison_as<__nv_bfloat16>(c, d_space, stream);
    case DataType::int32: return queue_comparison_as<std::int32_t>(c, d_space, stream);
    case DataType::uint8: return queue_comparison_as<std::uint8_t>(c, d_space, stream);
    case DataType::uint16: return queue_comparison_as<std::uint16_t>(c, d_space, stream);
    case DataType::uint32: return queue_comparison_as<std::uint32_t>(c, d_space, stream);
    case DataType::uint64: return queue_comparison_as<std::uint64_t>(c, d_space, stream);
    case DataType::int8: return queue_comparison_as<std::int8_t>(c, d_space, stream);
    case DataType::int16: return queue_comparison_as<std::int16_t>(c, d_space, stream);
    case DataType::int64: return queue_comparison_as<std::int64_t>(c, d_space, stream);
    case DataType::boolean: return queue_comparison_as<std::uint8_t>(c, d_space, stream);
  }
  throw std::logic_error("an output's data type has no comparison");
}

void queue_guard_check(const void* begin, std::int64_t bytes, unsigned char pattern,
                       unsigned long long* d_changed, CUstream_st* stream) {
  using namespace device_ops;
  const unsigned grid = static_cast<unsigned>(ceil_div(bytes, kBlock));
  guard_kernel<<<grid, kBlock, 0, stream>>>(static_cast<const unsigned char*>(begin), bytes,
                                            pattern, d_changed);
  GPUEXP_CUDA(cudaGetLastError());
}

void queue_fingerprint(const void* begin, std::int64_t bytes, unsigned long long* d_sum,
                       CUstream_st* stream) {
  using namespace device_ops;
  const std::int64_t blocks = ceil_div(bytes, kBlock * sizeof(unsigned long long));
  const unsigned grid = static_cast<unsigned>(blocks < 4096 ? blocks : 4096);
  if (grid == 0) return;
  fingerprint_kernel<<<grid, kBlock, 0, stream>>>(static_cast<const unsigned char*>(begin), bytes,
                                                  d_sum);
  GPUEXP_CUDA(cudaGetLastError());
}

void queue_cache_flush(const void* buffer, std::int64_t bytes, unsigned* d_sink,
                       CUstream_st* stream) {
  using namespace device_ops;
  const std::int64_t count = bytes / static_cast<std::int64_t>(sizeof(uint4));
  const std::int64_t blocks = ceil_div(count, kBlock);
  const unsigned grid = static_cast<unsigned>(blocks < 4096 ? blocks : 4096);
  flush_kernel<<<grid, kBlock, 0, stream>>>(static_cast<const uint4*>(buffer), count, d_sink);
  GPUEXP_CUDA(cudaGetLastError());
}

void queue_clock_stamps(long long* d_stamps, int sm_count, CUstream_st* stream) {
  device_ops::clock_stamp_kernel<<<sm_count, 1, 0, stream>>>(d_stamps,
                                                             static_cast<unsigned>(sm_count));
  GPUEXP_CUDA(cudaGetLastError());
}

void queue_empty_kernel(CUstream_st* stream) {
  device_ops::empty_kernel<<<1, 1, 0, stream>>>();
  GPUEXP_CUDA(cudaGetLastError());
}

}  // namespace gpuexp
