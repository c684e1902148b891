// Transposition of a square patch of a matrix in a thread's registers.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <cuda_runtime.h>

namespace gpuexp {

template <class T, int kWidth, int kBytes = kWidth * sizeof(T)>
using VectorOf = std::conditional_t<
    kBytes == 16, uint4,
    std::conditional_t<kBytes == 8, uint2,
                       std::conditional_t<kBytes == 4, std::uint32_t, std::uint16_t>>>;

/// Transposes kWidth × kWidth elements of 2 or 4 bytes; each vector is a row. 4-byte elements
/// need no instructions, because the compiler renames registers. For 2-byte elements, one byte
/// permutation combines elements of two rows into a word.
template <class T, int kWidth>
__device__ void turn(VectorOf<T, kWidth> (&patch)[kWidth]) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "elements must have 2 or 4 bytes");
  if constexpr (kWidth > 1) {
    constexpr int kWords = kWidth * sizeof(T) / 4;
    std::uint32_t from[kWidth][kWords];
    std::uint32_t to[kWidth][kWords];
    memcpy(from, patch, sizeof from);
#pragma unroll
    for (int c = 0; c < kWidth; ++c)
#pragma unroll
      for (int i = 0; i < kWords; ++i) {
        if constexpr (sizeof(T) == 4) {
          to[c][i] = from[i][c];
        } else {
          constexpr int kLowHalves = 0x5410;
          constexpr int kHighHalves = 0x7632;
          to[c][i] = __byte_perm(from[2 * i][c / 2], from[2 * i + 1][c / 2],
                                 c % 2 == 0 ? kLowHalves : kHighHalves);
        }
      }
    memcpy(patch, to, sizeof to);
  }
}

}  // namespace gpuexp
