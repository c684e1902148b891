// Sums over tiles in one pass: each block determines the sum of the tiles before its own while
// other blocks do the same (Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled
// Look-back, NVIDIA technical report NVR-2016-002).
//
// A block that waits for another block needs a guarantee that the other block runs, which CUDA
// does not give: the blocks of a grid may start in any order. Therefore a running block takes its
// tile by an atomic addition (a ticket). All lower tiles then belong to blocks that are resident
// or finished, and a block only waits for lower tiles. Resident blocks must make progress while
// others spin, which compute capability 7.0 and later guarantee (CUDA C++ Programming Guide,
// "Independent Thread Scheduling"; libcu++, "Forward progress").
#pragma once

#include <cstdint>
#include <type_traits>

#include <cuda_runtime.h>

#include "kernels/common/launch.cuh"
#include "kernels/common/tile_scan.cuh"

namespace gpuexp {

/// State of all tiles; zero before the launch.
struct TileStates {
  /// One word per tile: a TileState in the upper 32 bits, a value in the lower 32. A single store
  /// changes both and a single load reads both, so no fence is needed.
  unsigned long long* of_tiles;
  unsigned* taken;
};

enum class TileState : unsigned {
  unknown = 0,
  aggregate = 1,  ///< the value is the tile's own sum
  inclusive = 2,  ///< the value is the sum of all elements up to the tile's last
};

/// Size of the tile states in the workspace, in bytes.
inline std::int64_t tile_state_bytes(std::int64_t tiles) {
  return (tiles + 1) * std::int64_t{sizeof(unsigned long long)};
}
inline TileStates tile_states(void* workspace) {
  auto* const words = static_cast<unsigned long long*>(workspace);
  return {words + 1, static_cast<unsigned*>(workspace)};
}
inline Steps clear_tile_states(void* workspace, std::int64_t tiles) {
  return MemsetStep{workspace, 0, tile_state_bytes(tiles)};
}

namespace detail {

struct TileWord {
  TileState state;
  unsigned value;
};

// Relaxed order suffices, because no other data depends on the word (PTX ISA, "Memory Consistency
// Model").
__device__ __forceinline__ TileWord load_word(const TileStates& states, std::int64_t tile) {
  unsigned long long word;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];"
               : "=l"(word)
               : "l"(__cvta_generic_to_global(states.of_tiles + tile))
               : "memory");
  return {static_cast<TileState>(word >> 32), static_cast<unsigned>(word)};
}

__device__ __forceinline__ unsigned bits_of(int value) {
  return static_cast<unsigned>(value);
}
__device__ __forceinline__ unsigned bits_of(unsigned value) {
  return value;
}
__device__ __forceinline__ unsigned bits_of(float value) {
  return __float_as_uint(value);
}
template <class T>
__device__ __forceinline__ T from_bits(unsigned bits) {
  if constexpr (std::is_same<T, float>::value) {
    return __uint_as_float(bits);
  } else {
    return static_cast<T>(bits);
  }
}

}  // namespace detail

/// Takes the next tile for the block and returns its index. All threads of the block call this.
__device__ __forceinline__ std::int64_t take_tile(const TileStates& states) {
  __shared__ unsigned taken;
  if (threadIdx.x == 0) taken = atomicAdd(states.taken, 1u);
  __syncthreads();
  return taken;
}

/// Stores a tile's state and value. One thread calls this.
template <class T>
__device__ __forceinline__ void set_state(const TileStates& states, std::int64_t tile,
                                          TileState state, T value) {
  const auto word = static_cast<unsigned long long>(state) << 32 | detail::bits_of(value);
  asm volatile(
      "st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(states.of_tiles + tile)),
      "l"(word)
      : "memory");
}

namespace detail {

template <class T>
__device__ __forceinline__ T chained_sum(const TileStates& states, std::int64_t tile) {
  TileWord word;
  do {
    word = load_word(states, tile - 1);
  } while (word.state != TileState::inclusive);
  return from_bits<T>(word.value);
}

// Returns the sum of all previous tiles without waiting for the previous tile's inclusive sum.
// Each lane loads the states of kWords previous tiles. The warp sums the nearest tile with an
// inclusive sum and all tiles after it. If none of 32 tiles has one, the warp sums all 32 and
// continues with the 32 tiles before them.
template <int kWords, class T>
__device__ __forceinline__ T look_back_sum(const TileStates& states, std::int64_t tile) {
  const int lane = threadIdx.x % kWarp;
  const auto look = [&](std::int64_t at) {
    return at < 0 ? TileWord{TileState::inclusive, bits_of(T{})} : load_word(states, at);
  };
  T sum = T{};
#pragma unroll 1
  for (std::int64_t at = tile - 1 - lane;; at -= kWords * kWarp) {
    TileWord words[kWords];
#pragma unroll
    for (int j = 0; j < kWords; ++j)
      words[j] = look(at - j * kWarp);
#pragma unroll
    for (int j = 0; j < kWords; ++j) {
      unsigned inclusive, needed;
      for (;;) {
        inclusive = __ballot_sync(kAllLanes, words[j].state == TileState::inclusive);
        // The lowest lane with an inclusive sum and the lanes below it; all lanes if none has
        // one.
        needed = inclusive ^ (inclusive - 1);
        const unsigned unknown = __ballot_sync(kAllLanes, words[j].state == TileState::unknown);
        if ((unknown & needed) == 0) break;
        words[j] = look(at - j * kWarp);
      }
      sum += warp_sum((needed >> lane & 1u) != 0 ? from_bits<T>(words[j].value) : T{});
      if (inclusive != 0) return sum;
    }
  }
}

}  // namespace detail

/// Returns the sum of all tiles before `tile`, and stores the state of `tile`, whose own sum is
/// `own`. All lanes of one warp call this. If kWords > 0, the warp first stores `own` as
/// aggregate, and then loads the states of kWords·32 tiles at a time. If kWords is 0, it waits
/// for the inclusive sum of the previous tile and stores only its own inclusive sum.
template <int kWords, class T>
__device__ __forceinline__ T sum_before(const TileStates& states, std::int64_t tile, T own) {
  const bool publishes = threadIdx.x % kWarp == 0;
  T before = T{};
  if (tile > 0) {
    if constexpr (kWords > 0) {
      if (publishes) set_state(states, tile, TileState::aggregate, own);
      before = detail::look_back_sum<kWords, T>(states, tile);
    } else {
      before = detail::chained_sum<T>(states, tile);
    }
  }
  if (publishes) set_state(states, tile, TileState::inclusive, before + own);
  return before;
}

/// sum_before() for all threads of the block; every thread gets the result.
template <int kWords, class T>
__device__ __forceinline__ T block_exclusive_prefix(const TileStates& states, std::int64_t tile,
                                                    T own) {
  __shared__ T before;
  if (threadIdx.x < kWarp) {
    const T previous = sum_before<kWords>(states, tile, own);
    if (threadIdx.x == 0) before = previous;
  }
  __syncthreads();
  return before;
}

/// Returns `v` without a predicted time, for variants whose blocks wait for each other.
template <class Variant>
Variant without_predicted_time(Variant v) {
  v.without_time = "waits between blocks are not modelled";
  return v;
}

}  // namespace gpuexp
