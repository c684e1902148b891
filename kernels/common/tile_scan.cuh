// Tiles that a block holds in registers, and prefix sums within them: over a warp by shuffles, over
// the block's warps through shared memory.
//
// A warp has kVectors times 128 neighbouring elements of the tile, a lane four neighbouring ones of
// each 128: loads and stores are of 16 bytes, next to each other over the lanes, and the order of
// elements is that of vectors, then lanes, then the four. Nothing has to change hands in shared
// memory before it is added up.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/common/launch.cuh"

namespace gpuexp {

constexpr int kScanBlock = 256;
constexpr int kInVector = 4;  // elements of 4 bytes
constexpr int kOfAllLanes = kWarp * kInVector;

template <class T>
struct alignas(kInVector * sizeof(T)) FourOf {
  T at[kInVector];
};

/// Elements of a block's tile.
template <int kThreads, int kVectors>
constexpr std::int64_t kTileOf = std::int64_t{kThreads} * kInVector* kVectors;

/// A block for each tile of so many elements.
inline Shape blocks_of(std::int64_t n, std::int64_t tile) {
  return shape_of_tiles(n, tile, kScanBlock);
}

/// The first of this thread's elements; those of its next vector are kOfAllLanes further.
template <int kThreads, int kVectors>
__device__ __forceinline__ std::int64_t first_of_thread(std::int64_t tile) {
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  return tile * kTileOf<kThreads, kVectors> + warp * kVectors * kOfAllLanes + lane * kInVector;
}

/// Zeros stand behind the array's end. `x` begins at a multiple of 16 bytes.
template <int kThreads, int kVectors, class T>
__device__ __forceinline__ void load_tile(const T* x, std::int64_t n, std::int64_t tile,
                                          FourOf<T> (&held)[kVectors]) {
  const std::int64_t first = first_of_thread<kThreads, kVectors>(tile);
  if ((tile + 1) * kTileOf<kThreads, kVectors> <= n) {
#pragma unroll
    for (int j = 0; j < kVectors; ++j)
      held[j] = *reinterpret_cast<const FourOf<T>*>(x + first + j * kOfAllLanes);
    return;
  }
#pragma unroll
  for (int j = 0; j < kVectors; ++j) {
#pragma unroll
    for (int k = 0; k < kInVector; ++k) {
      const std::int64_t i = first + j * kOfAllLanes + k;
      held[j].at[k] = i < n ? x[i] : T{};
    }
  }
}

/// Stores them, each with `more` added.
template <int kThreads, int kVectors, class T>
__device__ __forceinline__ void store_tile(T* to, std::int64_t n, std::int64_t tile,
                                           FourOf<T> (&held)[kVectors], T more) {
  const std::int64_t first = first_of_thread<kThreads, kVectors>(tile);
#pragma unroll
  for (FourOf<T>& vector : held) {
#pragma unroll
    for (T& element : vector.at)
      element += more;
  }
  if ((tile + 1) * kTileOf<kThreads, kVectors> <= n) {
#pragma unroll
    for (int j = 0; j < kVectors; ++j) {
      // An intrinsic: of plain stores, the compiler makes some of those below.
      uint4 word;
      memcpy(&word, &held[j], sizeof word);
      __stwb(reinterpret_cast<uint4*>(to + first + j * kOfAllLanes), word);
    }
    return;
  }
#pragma unroll
  for (int j = 0; j < kVectors; ++j) {
#pragma unroll
    for (int k = 0; k < kInVector; ++k) {
      const std::int64_t i = first + j * kOfAllLanes + k;
      if (i < n) to[i] = held[j].at[k];
    }
  }
}

/// The sum of all lanes' numbers, in all lanes: of integers one instruction from compute capability
/// 8.0 on.
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

/// The sum of this lane's number and of those of the lanes below.
template <class T>
__device__ __forceinline__ T sum_up_to_lane(T own) {
  const int lane = threadIdx.x % kWarp;
#pragma unroll
  for (int offset = 1; offset < kWarp; offset *= 2) {
    const T other = __shfl_up_sync(kAllLanes, own, offset);
    if (lane >= offset) own += other;
  }
  return own;
}

/// Makes of each element the sum up to it, from the warp's first on. All lanes get the warp's sum.
template <int kVectors, class T>
__device__ __forceinline__ T sum_up_in_warp(FourOf<T> (&held)[kVectors]) {
  T before = T{};
#pragma unroll
  for (FourOf<T>& vector : held) {
#pragma unroll
    for (int k = 1; k < kInVector; ++k)
      vector.at[k] += vector.at[k - 1];
    const T up_to_lane = sum_up_to_lane(vector.at[kInVector - 1]);
    const T of_lanes = __shfl_sync(kAllLanes, up_to_lane, kWarp - 1);
    T below = __shfl_up_sync(kAllLanes, up_to_lane, 1);
    if (threadIdx.x % kWarp == 0) below = T{};
    below += before;
#pragma unroll
    for (T& element : vector.at)
      element += below;
    before += of_lanes;
  }
  return before;
}

template <class T>
struct BlockSums {
  T before;  ///< of the warps before this one
  T all;
};

/// By all threads; lanes of a warp have the same sum. Between two calls stands a barrier of the
/// block.
template <int kThreads, class T>
__device__ __forceinline__ BlockSums<T> block_sums(T of_warp) {
  constexpr int kWarps = kThreads / kWarp;
  __shared__ __align__(kInVector * sizeof(T)) T of_warps[kWarps];
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

// ---- the sums of tiles

constexpr int kSumsBlock = 1024;
constexpr int kSumsVectors = 4;

/// By one block: makes of each of n sums that of all up to it. The last goes to `all`, too, unless
/// that is null.
template <class T>
__global__ void __launch_bounds__(kSumsBlock, 1) scan_sums_kernel(T* sums, std::int64_t n, T* all) {
  T before = T{};
#pragma unroll 1
  for (std::int64_t tile = 0; tile * kTileOf<kSumsBlock, kSumsVectors> < n; ++tile) {
    FourOf<T> held[kSumsVectors];
    load_tile<kSumsBlock>(sums, n, tile, held);
    const T of_warp = sum_up_in_warp(held);
    const BlockSums<T> block = block_sums<kSumsBlock>(of_warp);
    store_tile<kSumsBlock>(sums, n, tile, held, before + block.before);
    before += block.all;
    __syncthreads();
  }
  if (all != nullptr && threadIdx.x == 0) *all = before;
}

/// Sums up in place: those before tile t end in sums[t - 1].
template <class T>
Steps scan_sums(T* sums, std::int64_t n, T* all = nullptr) {
  return launch(scan_sums_kernel<T>, shape_of_blocks(1, kSumsBlock), sums, n, all);
}

/// What the tiles before this one add up to, of sums up to each tile.
template <class T>
__device__ __forceinline__ T before_tile(const T* sums, std::int64_t tile) {
  return tile == 0 ? T{} : sums[tile - 1];
}

/// Adds to each of n elements what the tiles before its own have; a thread has a vector.
template <int kTile, class T>
__global__ void __launch_bounds__(kScanBlock)
    add_before_tile_kernel(T* to, std::int64_t n, const T* up_to_tiles) {
  static_assert(kTile % kInVector == 0, "a vector is of one tile");
  const std::int64_t i =
      (static_cast<std::int64_t>(blockIdx.x) * kScanBlock + threadIdx.x) * kInVector;
  if (i >= n) return;
  const T before = before_tile(up_to_tiles, i / kTile);
  if (i + kInVector <= n) {
    FourOf<T> vector = *reinterpret_cast<FourOf<T>*>(to + i);
#pragma unroll
    for (T& element : vector.at)
      element += before;
    *reinterpret_cast<FourOf<T>*>(to + i) = vector;
    return;
  }
#pragma unroll 1
  for (std::int64_t k = i; k < n; ++k)
    to[k] += before;
}

}  // namespace gpuexp
