// Tiles in a block's registers, and prefix sums within a tile: by shuffles in a warp, and through
// shared memory over the warps of a block.
//
// A warp has kVectors × 128 consecutive elements of the tile, and a lane has four consecutive
// elements of each 128, so lanes access adjacent 16-byte vectors. Elements are ordered by vector,
// then by lane, then within the vector. The prefix sums use this order, so elements need not be
// exchanged through shared memory.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/common/launch.cuh"

namespace gpuexp {

constexpr int kScanBlock = 256;
constexpr int kVectorElements = 4;  // each has 4 bytes
constexpr int kWarpVectorElements = kWarp * kVectorElements;

template <class T>
struct alignas(kVectorElements * sizeof(T)) Vector4 {
  T at[kVectorElements];
};

template <int kThreads, int kVectors>
constexpr std::int64_t kTileElements = std::int64_t{kThreads} * kVectorElements* kVectors;

inline Shape one_block_per_tile(std::int64_t n, std::int64_t tile) {
  return shape_of_tiles(n, tile, kScanBlock);
}

/// Index of this thread's first element. Its vectors have a stride of kWarpVectorElements
/// elements.
template <int kThreads, int kVectors>
__device__ __forceinline__ std::int64_t first_of_thread(std::int64_t tile) {
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  return tile * kTileElements<kThreads, kVectors> + warp * kVectors * kWarpVectorElements +
         lane * kVectorElements;
}

/// Loads a tile, with zeros past the end of the array. `x` must be aligned to 16 bytes.
template <int kThreads, int kVectors, class T>
__device__ __forceinline__ void load_tile(const T* x, std::int64_t n, std::int64_t tile,
                                          Vector4<T> (&held)[kVectors]) {
  const std::int64_t first = first_of_thread<kThreads, kVectors>(tile);
  if ((tile + 1) * kTileElements<kThreads, kVectors> <= n) {
#pragma unroll
    for (int j = 0; j < kVectors; ++j)
      held[j] = *reinterpret_cast<const Vector4<T>*>(x + first + j * kWarpVectorElements);
    return;
  }
#pragma unroll
  for (int j = 0; j < kVectors; ++j) {
#pragma unroll
    for (int k = 0; k < kVectorElements; ++k) {
      const std::int64_t i = first + j * kWarpVectorElements + k;
      held[j].at[k] = i < n ? x[i] : T{};
    }
  }
}

template <int kThreads, int kVectors, class T>
__device__ __forceinline__ void store_tile(T* to, std::int64_t n, std::int64_t tile,
                                           Vector4<T> (&held)[kVectors], T addend) {
  const std::int64_t first = first_of_thread<kThreads, kVectors>(tile);
#pragma unroll
  for (Vector4<T>& vector : held) {
#pragma unroll
    for (T& element : vector.at)
      element += addend;
  }
  if ((tile + 1) * kTileElements<kThreads, kVectors> <= n) {
#pragma unroll
    for (int j = 0; j < kVectors; ++j) {
      // An intrinsic, because the compiler replaces some plain vector stores by single stores.
      uint4 word;
      memcpy(&word, &held[j], sizeof word);
      __stwb(reinterpret_cast<uint4*>(to + first + j * kWarpVectorElements), word);
    }
    return;
  }
#pragma unroll
  for (int j = 0; j < kVectors; ++j) {
#pragma unroll
    for (int k = 0; k < kVectorElements; ++k) {
      const std::int64_t i = first + j * kWarpVectorElements + k;
      if (i < n) to[i] = held[j].at[k];
    }
  }
}

/// Sum over the lanes of the warp, for all lanes. For integers, this is one instruction on
/// compute capability 8.0 and later.
__device__ __forceinline__ int warp_sum(int own) {
  return __reduce_add_sync(kAllLanes, own);
}
__device__ __forceinline__ unsigned warp_sum(unsigned own) {
  return __reduce_add_sync(kAllLanes, own);
}
__device__ __forceinline__ float warp_sum(float own) {
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    own += __shfl_xor_sync(kAllLanes, own, offset);
  return own;
}

template <class T>
__device__ __forceinline__ T inclusive_scan_lanes(T own) {
  const int lane = threadIdx.x % kWarp;
#pragma unroll
  for (int offset = 1; offset < kWarp; offset *= 2) {
    const T other = __shfl_up_sync(kAllLanes, own, offset);
    if (lane >= offset) own += other;
  }
  return own;
}

/// Replaces each element by its inclusive prefix sum over the warp's elements. Returns the warp's
/// sum to all lanes.
template <int kVectors, class T>
__device__ __forceinline__ T inclusive_scan_warp(Vector4<T> (&held)[kVectors]) {
  T before = T{};
#pragma unroll
  for (Vector4<T>& vector : held) {
#pragma unroll
    for (int k = 1; k < kVectorElements; ++k)
      vector.at[k] += vector.at[k - 1];
    const T lane_prefix = inclusive_scan_lanes(vector.at[kVectorElements - 1]);
    const T warp_sum = __shfl_sync(kAllLanes, lane_prefix, kWarp - 1);
    T below = __shfl_up_sync(kAllLanes, lane_prefix, 1);
    if (threadIdx.x % kWarp == 0) below = T{};
    below += before;
#pragma unroll
    for (T& element : vector.at)
      element += below;
    before += warp_sum;
  }
  return before;
}

template <class T>
struct BlockSums {
  T before;
  T all;
};

/// Sums over the warps of a block. All threads must call this, with the same `of_warp` in all
/// lanes of a warp. The caller must synchronize the block between two calls.
template <int kThreads, class T>
__device__ __forceinline__ BlockSums<T> block_sums(T of_warp) {
  constexpr int kWarps = kThreads / kWarp;
  __shared__ __align__(kVectorElements * sizeof(T)) T of_warps[kWarps];
  const int warp = threadIdx.x / kWarp;
  if (threadIdx.x % kWarp == 0) of_warps[warp] = of_warp;
  __syncthreads();
  BlockSums<T> sums{T{}, T{}};
#pragma unroll
  for (int i = 0; i < kWarps; ++i) {
    if (i == warp) sums.before = sums.all;
    sums.all += of_warps[i];
  }
  return sums;
}

// ---- prefix sums over tiles

constexpr int kSumsBlock = 1024;
constexpr int kSumsVectors = 4;

/// Replaces n sums by their inclusive prefix sums, in one block. Also stores the last prefix sum to
/// `all`, unless `all` is null.
template <class T>
__global__ void __launch_bounds__(kSumsBlock, 1) scan_sums_kernel(T* sums, std::int64_t n, T* all) {
  T before = T{};
#pragma unroll 1
  for (std::int64_t tile = 0; tile * kTileElements<kSumsBlock, kSumsVectors> < n; ++tile) {
    Vector4<T> held[kSumsVectors];
    load_tile<kSumsBlock>(sums, n, tile, held);
    const T of_warp = inclusive_scan_warp(held);
    const BlockSums<T> block = block_sums<kSumsBlock>(of_warp);
    store_tile<kSumsBlock>(sums, n, tile, held, before + block.before);
    before += block.all;
    __syncthreads();
  }
  if (all != nullptr && threadIdx.x == 0) *all = before;
}

/// Replaces the sums of n tiles by their inclusive prefix sums. Afterwards, sums[t - 1] is the
/// sum of all tiles before tile t.
template <class T>
Steps scan_sums(T* sums, std::int64_t n, T* all = nullptr) {
  return launch(scan_sums_kernel<T>, shape_of_blocks(1, kSumsBlock), sums, n, all);
}

template <class T>
__device__ __forceinline__ T exclusive_tile_prefix(const T* sums, std::int64_t tile) {
  return tile == 0 ? T{} : sums[tile - 1];
}

/// Adds the sum of all earlier tiles to each of n elements. A thread has one vector of elements.
template <int kTile, class T>
__global__ void __launch_bounds__(kScanBlock)
    add_before_tile_kernel(T* to, std::int64_t n, const T* up_to_tiles) {
  static_assert(kTile % kVectorElements == 0, "a vector must be inside one tile");
  const std::int64_t i =
      (static_cast<std::int64_t>(blockIdx.x) * kScanBlock + threadIdx.x) * kVectorElements;
  if (i >= n) return;
  const T before = exclusive_tile_prefix(up_to_tiles, i / kTile);
  if (i + kVectorElements <= n) {
    Vector4<T> vector = *reinterpret_cast<Vector4<T>*>(to + i);
#pragma unroll
    for (T& element : vector.at)
      element += before;
    *reinterpret_cast<Vector4<T>*>(to + i) = vector;
    return;
  }
#pragma unroll 1
  for (std::int64_t k = i; k < n; ++k)
    to[k] += before;
}

}  // namespace gpuexp
