// Sums over tiles in one pass: a block finds out by itself what the tiles before its own add up to,
// while other blocks do the same (Merrill and Garland, Single-pass Parallel Prefix Scan with
// Decoupled Look-back, NVIDIA technical report NVR-2016-002).
//
// Blocks wait for others here, which CUDA promises nothing about: blocks of a grid may start in any
// order, and one that waits for a block that has not started could wait for ever. So a block takes
// its tile when it runs, by an atomic addition (a ticket): tiles before it have been taken by
// blocks that ran before, which are resident or done. The first tile waits for nobody, each other
// one for tiles before it alone. What is needed is that resident blocks go on while others spin,
// which holds from compute capability 7.0 on (CUDA C++ Programming Guide, "Independent Thread
// Scheduling"; libcu++, "Forward progress").
#pragma once

#include <cstdint>
#include <type_traits>

#include <cuda_runtime.h>

#include "kernels/common/launch.cuh"
#include "kernels/common/tile_scan.cuh"

namespace gpuexp {

/// What all blocks see; zero before the launch.
struct TileStates {
  /// Of each tile, a flag above 32 bits of a value: both change by one store, so that whoever sees
  /// the flag has the value, and no fence has to order two of them.
  unsigned long long* of_tiles;
  unsigned* taken;  ///< tiles that have a block
};

enum class TileState : unsigned {
  unknown = 0,
  own = 1,    ///< the value is the tile's own sum
  up_to = 2,  ///< it is the sum of all elements up to the tile's last
};

/// They lie in the workspace.
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

// Relaxed: nothing else that a block reads hangs on the word (PTX ISA, "Memory Consistency Model").
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

/// By all threads of the block: the tile that it takes.
__device__ __forceinline__ std::int64_t take_tile(const TileStates& states) {
  __shared__ unsigned taken;
  if (threadIdx.x == 0) taken = atomicAdd(states.taken, 1u);
  __syncthreads();
  return taken;
}

/// By one thread.
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

// Waits until the tile before this one knows the sum up to itself.
template <class T>
__device__ __forceinline__ T sum_of_chain(const TileStates& states, std::int64_t tile) {
  TileWord word;
  do {
    word = load_word(states, tile - 1);
  } while (word.state != TileState::up_to);
  return from_bits<T>(word.value);
}

// The same without a chain. A lane looks at one of the 32 tiles before. Those up to the nearest
// that knows the sum up to itself are needed; where none does, all are, and the 32 before them,
// too.
template <int kWords, class T>
__device__ __forceinline__ T sum_of_looks(const TileStates& states, std::int64_t tile) {
  const int lane = threadIdx.x % kWarp;
  const auto look = [&](std::int64_t at) {
    return at < 0 ? TileWord{TileState::up_to, bits_of(T{})} : load_word(states, at);
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
      unsigned up_to, needed;  // lanes
      for (;;) {
        up_to = __ballot_sync(kAllLanes, words[j].state == TileState::up_to);
        needed = up_to ^ (up_to - 1);  // the lowest and those below it; all where there is none
        const unsigned unknown = __ballot_sync(kAllLanes, words[j].state == TileState::unknown);
        if ((unknown & needed) == 0) break;
        words[j] = look(at - j * kWarp);
      }
      sum += warp_sum((needed >> lane & 1u) != 0 ? from_bits<T>(words[j].value) : T{});
      if (up_to != 0) return sum;
    }
  }
}

}  // namespace detail

/// By the lanes of one warp: what all tiles before this one add up to, which has its own sum, and
/// says so to those behind it. It looks at kWords times 32 tiles at once, which have said before
/// what they have themselves; with 0, at one, which says nothing before it knows all up to itself.
template <int kWords, class T>
__device__ __forceinline__ T sum_before(const TileStates& states, std::int64_t tile, T own) {
  const bool says = threadIdx.x % kWarp == 0;
  T before = T{};
  if (tile > 0) {
    if constexpr (kWords > 0) {
      if (says) set_state(states, tile, TileState::own, own);
      before = detail::sum_of_looks<kWords, T>(states, tile);
    } else {
      before = detail::sum_of_chain<T>(states, tile);
    }
  }
  if (says) set_state(states, tile, TileState::up_to, before + own);
  return before;
}

/// The same by all threads of the block, in all of them.
template <int kWords, class T>
__device__ __forceinline__ T sum_before_block(const TileStates& states, std::int64_t tile, T own) {
  __shared__ T before;
  if (threadIdx.x < kWarp) {
    const T of_others = sum_before<kWords>(states, tile, own);
    if (threadIdx.x == 0) before = of_others;
  }
  __syncthreads();
  return before;
}

/// The variant, whose blocks wait for each other so: without a predicted time.
template <class Variant>
Variant waiting_for_tiles(Variant v) {
  v.without_time = "the time of blocks that wait for others is not modelled";
  return v;
}

}  // namespace gpuexp
