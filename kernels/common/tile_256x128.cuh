// One 256×128 tile of C = A·B in bf16 by mma.sync, by one block of 8 warps, at any width of memory
// access. The lessons on waves and on alignment share it, so that they differ in what they are
// about and in nothing else.
//
// Shared memory holds a ring of 4 slabs: 256×32 of A and 32×128 of B, 24 KiB, while three are under
// way. At the end of the tile the same memory collects C, which then leaves in whole rows.
#pragma once

#include <algorithm>

#include <cuda_bf16.h>

#include "kernels/common/cp_async.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/common/mma_sync.cuh"
#include "kernels/common/types.cuh"

namespace gpuexp::tile_256x128 {

using Element = __nv_bfloat16;

// Unsigned, as are the indices below: threadIdx is, and signed / and % cost more than a shift.
constexpr unsigned kTileM = 256;
constexpr unsigned kTileN = 128;
constexpr unsigned kSlabK = 32;
constexpr unsigned kStages = 4;
constexpr unsigned kThreads = 256;
constexpr unsigned kSlabA = kTileM * kSlabK;
constexpr unsigned kSlab = kSlabA + kSlabK * kTileN;
/// 96 KiB, which every device of compute capability 8.0 and above grants a block (8.6: 99 KiB).
constexpr std::int64_t kSharedBytes = kStages * kSlab * sizeof(Element);
static_assert(kTileM * kTileN <= kStages * kSlab, "C is staged where the slabs were");

/// A row-major matrix, or the part of one that a tile needs. Reads beyond rows × columns give 0,
/// writes beyond are left out. From `data` it spans fewer than 2^32 elements.
template <class T>
struct Matrix {
  T* data;
  unsigned ld;
  unsigned rows;
  unsigned columns;
};

/// The grid that covers an m×n C, tiles of a column of C in neighbouring blocks. Dynamic shared
/// memory is what the tile needs or, where that is more, over half of what the SM has: one block
/// per SM, whatever registers and threads would allow.
inline Shape shape(const void* kernel, std::int64_t m, std::int64_t n, const DeviceSpec& device) {
  Shape s;
  s.kernel = kernel;
  s.block = {kThreads, 1, 1};
  s.tile = {kTileM, kTileN, 1};
  s.grid = {ceil_div(m, kTileM), ceil_div(n, kTileN), 1};
  s.dynamic_shared_bytes = std::max(kSharedBytes, device.sm.shared_bytes / 2 + 1024);
  return s;
}

/// Where element (row, column) of an array of kColumns columns lies in shared memory. The 16-byte
/// chunks of a row are permuted by the row, so that 8 rows at the same column, which ldmatrix reads
/// at once, and the 4-byte stores of C fall into all 32 banks.
template <unsigned kColumns>
__device__ inline unsigned shared_index(unsigned row, unsigned column) {
  constexpr unsigned kChunk = 8;
  constexpr unsigned kRowsPerLine =
      kColumns < 64 ? 64 / kColumns : 1;  // a line: 128 bytes, all banks
  constexpr unsigned kPhases = kColumns / kChunk < 8 ? kColumns / kChunk : 8;
  const unsigned phase = row / kRowsPerLine % kPhases;
  return row * kColumns + (column / kChunk ^ phase) * kChunk + column % kChunk;
}

/// The type of one access of kBytes bytes.
template <int kBytes>
using Access = std::conditional_t<
    kBytes == 16, uint4,
    std::conditional_t<kBytes == 8, uint2,
                       std::conditional_t<kBytes == 4, unsigned, unsigned short>>>;

/// Copies kBytes from global to shared memory, or zeros. cp.async has no form for 2 bytes: they
/// pass through a register, and the thread waits for them.
template <int kBytes>
__device__ inline void load(Element* dst_shared, const Element* src, bool valid) {
  if constexpr (kBytes == sizeof(Element)) {
    const auto bits = reinterpret_cast<const unsigned short*>(src);
    *reinterpret_cast<unsigned short*>(dst_shared) = valid ? __ldg(bits) : 0;
  } else {
    cp_async<kBytes>(dst_shared, src, valid);
  }
}

/// Fills a kRows×kColumns array in shared memory from `from`, starting at its element
/// (first_row, first_column). Neighbouring threads take neighbouring accesses of a row. kWhole says
/// that `from` has all of these elements.
template <int kBytes, bool kWhole, unsigned kRows, unsigned kColumns>
__device__ inline void load_slab(Element* shared, const Matrix<const Element>& from,
                                 unsigned first_row, unsigned first_column) {
  constexpr unsigned kElements = kBytes / sizeof(Element);
  constexpr unsigned kRowThreads = kColumns / kElements;
  constexpr unsigned kRowStep = kThreads / kRowThreads;
  static_assert(kThreads % kRowThreads == 0 && kRows % kRowStep == 0, "every thread does the same");
  const unsigned row = threadIdx.x / kRowThreads;
  const unsigned column = threadIdx.x % kRowThreads * kElements;
  unsigned offset = (first_row + row) * from.ld + first_column + column;
  const bool column_inside = kWhole || first_column + column < from.columns;
#pragma unroll
  for (unsigned pass = 0; pass < kRows; pass += kRowStep, offset += kRowStep * from.ld) {
    const bool inside = kWhole || (column_inside && first_row + row + pass < from.rows);
    load<kBytes>(shared + shared_index<kColumns>(row + pass, column),
                 from.data + (inside ? offset : 0u), inside);
  }
}

/// sum += the product of a slab of A and one of B. Each warp owns 64×64 of the tile, the squarest
/// share: per 16 of K it reads 2×2 KiB of shared memory for 32 mma.
__device__ inline void multiply_slab(const Element* a, const Element* b, unsigned warp_row,
                                     unsigned warp_column, float (&sum)[4][8][4]) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned lane_row = lane % 16;
  const unsigned lane_column = lane / 16 * 8;
#pragma unroll
  for (unsigned k = 0; k < kSlabK; k += 16) {
    unsigned fragment_a[4][4];
    unsigned fragment_b[4][4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      ldmatrix_x4(fragment_a[i],
                  a + shared_index<kSlabK>(warp_row + 16 * i + lane_row, k + lane_column));
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      ldmatrix_x4_transposed(
          fragment_b[j],
          b + shared_index<kTileN>(k + lane_row, warp_column + 16 * j + lane_column));
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const unsigned* column_pair = &fragment_b[j / 2][j % 2 * 2];
        mma_m16n8k16_bf16(sum[i][j], fragment_a[i], column_pair[0], column_pair[1]);
      }
    }
  }
}

/// Rounds a warp's sums to bf16 and puts them into the 256×128 array in shared memory.
__device__ inline void stage_sums(Element* shared, unsigned warp_row, unsigned warp_column,
                                  const float (&sum)[4][8][4]) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const unsigned row = warp_row + 16 * i + lane / 4;
      const unsigned column = warp_column + 8 * j + lane % 4 * 2;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        *reinterpret_cast<__nv_bfloat162*>(shared + shared_index<kTileN>(row + 8 * half, column)) =
            __floats2bfloat162_rn(sum[i][j][2 * half], sum[i][j][2 * half + 1]);
      }
    }
  }
}

/// Writes the 256×128 array in shared memory to `to`, kBytes per access.
template <int kBytes, bool kWhole>
__device__ inline void store_tile(const Matrix<Element>& to, const Element* shared) {
  constexpr unsigned kElements = kBytes / sizeof(Element);
  constexpr unsigned kRowThreads = kTileN / kElements;
  constexpr unsigned kRowStep = kThreads / kRowThreads;
  const unsigned row = threadIdx.x / kRowThreads;
  const unsigned column = threadIdx.x % kRowThreads * kElements;
  if (!kWhole && column >= to.columns) return;
  unsigned offset = row * to.ld + column;
#pragma unroll 16
  for (unsigned pass = 0; pass < kTileM; pass += kRowStep, offset += kRowStep * to.ld) {
    if (!kWhole && row + pass >= to.rows) return;
    *reinterpret_cast<Access<kBytes>*>(to.data + offset) =
        *reinterpret_cast<const Access<kBytes>*>(shared + shared_index<kTileN>(row + pass, column));
  }
}

/// c = a·b for one tile: a holds the tile's rows of A, b its columns of B, c its part of C, each
/// with `data` at its first element. All three are read and written kBytes at a time, which must
/// divide their addresses, the leading dimensions in bytes and a row's last access. kWhole says
/// that a has 256 rows, b and c 128 columns, c 256 rows, and that K is a multiple of 32: no access
/// is conditional. Called by all 256 threads of a block with kSharedBytes of dynamic shared memory.
template <int kBytes, bool kWhole>
__device__ inline void multiply(const Matrix<const Element>& a, const Matrix<const Element>& b,
                                const Matrix<Element>& c) {
  extern __shared__ __align__(128) unsigned char dynamic_shared[];
  auto* const shared = reinterpret_cast<Element*>(dynamic_shared);
  const unsigned slabs = (a.columns + kSlabK - 1) / kSlabK;
  const auto fetch = [&](unsigned slab) {
    if (slab < slabs) {
      Element* const stage = shared + slab % kStages * kSlab;
      load_slab<kBytes, kWhole, kTileM, kSlabK>(stage, a, 0, slab * kSlabK);
      load_slab<kBytes, kWhole, kSlabK, kTileN>(stage + kSlabA, b, slab * kSlabK, 0);
    }
    cp_async_commit();
  };

  const unsigned warp = threadIdx.x / 32;
  const unsigned warp_row = warp / 2 * 64;
  const unsigned warp_column = warp % 2 * 64;
  float sum[4][8][4] = {};
  for (unsigned slab = 0; slab < kStages - 1; ++slab)
    fetch(slab);
  for (unsigned slab = 0; slab < slabs; ++slab) {
    cp_async_wait<kStages - 2>();
    // This slab is there for all, and nobody reads the one before any more: its place is free.
    __syncthreads();
    fetch(slab + kStages - 1);
    const Element* const stage = shared + slab % kStages * kSlab;
    multiply_slab(stage, stage + kSlabA, warp_row, warp_column, sum);
  }
  cp_async_wait<0>();
  __syncthreads();
  stage_sums(shared, warp_row, warp_column, sum);
  __syncthreads();
  store_tile<kBytes, kWhole>(c, shared);
}

}  // namespace gpuexp::tile_256x128
