// A block's tile of a matrix product on tensor cores: its division among warps, a warp's products
// by mma.sync of operands in shared memory, and stores of C.
#pragma once

#include <algorithm>

#include "kernels/common/mma_sync.cuh"
#include "kernels/common/pack.cuh"
#include "kernels/common/shared_tile.cuh"

namespace gpuexp {

/// The tile of C that a block computes, in elements. The depth of a tile is in bytes, so that
/// tiles of all input types need the same shared memory. Each warp computes kWarpM × kWarpN of
/// the kBlockM × kBlockN sums.
template <int kBlockM_, int kBlockN_, int kDepthBytes_, int kWarpM_, int kWarpN_>
struct Tiling {
  static constexpr int kBlockM = kBlockM_;
  static constexpr int kBlockN = kBlockN_;
  static constexpr int kDepthBytes = kDepthBytes_;
  static constexpr int kWarpM = kWarpM_;
  static constexpr int kWarpN = kWarpN_;
  static constexpr int kWarpsN = kBlockN / kWarpN;
  static constexpr int kWarps = kBlockM / kWarpM * kWarpsN;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kSteps =
      kDepthBytes / 32;  ///< steps per tile; one mma.sync is one step deep
  template <class In>
  static constexpr int kDepth = kDepthBytes / static_cast<int>(sizeof(In));

  __device__ static int warp() { return static_cast<int>(threadIdx.x / 32); }
  __device__ static int warp_row() { return warp() / kWarpsN * kWarpM; }
  __device__ static int warp_col() { return warp() % kWarpsN * kWarpN; }
};

/// A tile of A has kBlockM rows of kDepthBytes; a tile of B has kDepth rows of kBlockN elements.
template <class T, TileLayout kLayout>
using ATile = SharedTile<T::kBlockM, T::kDepthBytes, kLayout>;
template <class In, class T, TileLayout kLayout>
using BTile = SharedTile<T::template kDepth<In>, T::kBlockN* static_cast<int>(sizeof(In)), kLayout>;

struct Corner {
  std::int64_t row;
  std::int64_t col;
};

/// Position of this block's tile. Consecutive blocks compute tiles of the same tile column.
template <class T>
__device__ Corner block_corner() {
  return {static_cast<std::int64_t>(blockIdx.x) * T::kBlockM,
          static_cast<std::int64_t>(blockIdx.y) * T::kBlockN};
}

/// A row-major rows×cols matrix in global memory, without padding.
template <class T>
struct Matrix {
  T* data;
  std::int64_t rows;
  std::int64_t cols;

  __device__ Window window(std::int64_t row, std::int64_t col) const {
    constexpr int kSize = static_cast<int>(sizeof(T));
    const char* const base = reinterpret_cast<const char*>(data);
    return {base, base + (row * cols + col) * kSize, static_cast<int>(cols) * kSize,
            static_cast<int>(rows - row), static_cast<int>(cols - col) * kSize};
  }
};

/// 16 rows of a warp's sums in shared memory, through which they are stored to C. In fragments, a
/// lane has only 4 or 8 contiguous bytes of a row; from the slab, it can store 16 bytes at a
/// time. 8 elements of padding spread the bytes that a warp writes at once over different banks.
template <class Acc, int kCols>
struct Slab {
  static constexpr int kRows = 16;
  static constexpr int kPitch = kCols + 8;
  static constexpr int kBytes = kRows * kPitch * static_cast<int>(sizeof(Acc));
};

/// Loads kCount sums from shared memory, 16 bytes at a time, and rounds them to Out.
template <class Out, int kCount, class Acc>
__device__ inline Pack<Out, kCount> rounded_sums(const Acc* sums) {
  constexpr int kPart = std::min(kCount, 16 / static_cast<int>(sizeof(Acc)));
  Pack<Out, kCount> out;
#pragma unroll
  for (int first = 0; first < kCount; first += kPart) {
    const auto part = load_pack<kPart>(sums + first);
#pragma unroll
    for (int pair = 0; pair < part.kPairs; ++pair)
      out.pairs[first / 2 + pair] = narrow<Out>(widen(part.pairs[pair]));
  }
  return out;
}

/// Converts a warp's slab to Out, and stores it to C with its first element at `at`. A lane
/// stores kStoreBytes at a time if the rows of C are multiples of kStoreBytes, otherwise single
/// elements. Elements outside C are not stored.
template <int kCols, int kStoreBytes = 16, class Acc, class Out>
__device__ void store_slab(const Acc* slab, const Matrix<Out>& c, const Corner& at) {
  using S = Slab<Acc, kCols>;
  if (at.row >= c.rows || at.col >= c.cols) return;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int rows = static_cast<int>(min(c.rows - at.row, static_cast<std::int64_t>(S::kRows)));
  const int cols = static_cast<int>(min(c.cols - at.col, static_cast<std::int64_t>(kCols)));
  Out* const to = c.data + at.row * c.cols + at.col;
  constexpr int kVector = kStoreBytes / static_cast<int>(sizeof(Out));
  if (c.cols % kVector == 0) {
    for (int i = lane * kVector; i < S::kRows * kCols; i += 32 * kVector) {
      const int row = i / kCols;
      const int col = i % kCols;
      if (row >= rows || col >= cols) continue;
      const Acc* const sums = slab + row * S::kPitch + col;
      store_pack<kVector>(to + row * c.cols + col, rounded_sums<Out, kVector>(sums));
    }
  } else {
    for (int i = lane; i < S::kRows * kCols; i += 32) {
      const int row = i / kCols;
      const int col = i % kCols;
      if (row >= rows || col >= cols) continue;
      to[row * c.cols + col] = from_float<Out>(static_cast<float>(slab[row * S::kPitch + col]));
    }
  }
}

/// A warp's kWarpM×kWarpN sums, in registers. 64×64 fp32 sums are 128 registers per lane, half of
/// the maximum per thread.
template <class In, class Acc, class T>
class WarpProduct {
  /// Lanes load tf32 fragments of B word by word, because ldmatrix transposes only 16-bit elements.
  static constexpr bool kWords = sizeof(In) == 4;

 public:
  using A = ATile<T, TileLayout::swizzled>;
  using B = BTile<In, T, kWords ? TileLayout::swizzled_pairs : TileLayout::swizzled>;
  using S = Slab<Acc, T::kWarpN>;

  struct Fragments {
    unsigned a[T::kWarpM / 16][4];
    unsigned b[T::kWarpN / 8][2];
  };

  /// Loads the fragments of step `step`, less than kSteps, from tiles in shared memory.
  __device__ static void load(Fragments& f, const char* a_tile, const char* b_tile, int step) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    // Lanes 0 to 15 provide the row addresses of the left 16 bytes, lanes 16 to 31 the row
    // addresses of the right 16 bytes.
    const int row = lane % 16;
    const int byte = lane / 16 * 16;
    // The swizzle repeats every 8 rows and 128 bytes, so offsets of whole periods are constants.
    const char* const a = a_tile + A::offset(T::warp_row() + row, 32 * step + byte);
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i)
      ldmatrix_x4(f.a[i], a + 16 * i * A::kPitch);
    const char* const b = b_tile + kMmaDepth<In> * step * B::kPitch;
    if constexpr (kWords) {
      const int col_byte = T::warp_col() * 4 + lane / 4 * 4;
#pragma unroll
      for (int j = 0; j < kColTiles; ++j) {
        const char* const word = b + B::offset(lane % 4, col_byte + 32 * (j % 4)) + 128 * (j / 4);
        f.b[j][0] = *reinterpret_cast<const unsigned*>(word);
        f.b[j][1] = *reinterpret_cast<const unsigned*>(word + 4 * B::kPitch);
      }
    } else {
#pragma unroll
      for (int j = 0; j < kColTiles; j += 2) {
        unsigned r[4];  // upper and lower 8 rows of tile j, then of tile j + 1
        ldmatrix_x4_transposed(r, b + B::offset(row, (T::warp_col() + 8 * j) * 2 + byte));
        f.b[j][0] = r[0];
        f.b[j][1] = r[1];
        f.b[j + 1][0] = r[2];
        f.b[j + 1][1] = r[3];
      }
    }
  }

  __device__ static void advance(Window& a, Window& b) {
    a.move_right(T::kDepthBytes);
    b.move_down(T::template kDepth<In>);
  }

  __device__ void multiply(const Fragments& f) {
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i) {
#pragma unroll
      for (int j = 0; j < kColTiles; ++j) {
        // The column order alternates, so each product shares a fragment with the previous one.
        const int col = i % 2 == 0 ? j : kColTiles - 1 - j;
        mma<In>(sums_[i][col], f.a[i], f.b[col]);
      }
    }
  }

  /// Calls each(i, MmaSums) for i from 0 to kFragments - 1, in the same order in all lanes.
  static constexpr int kFragments = T::kWarpM / 16 * (T::kWarpN / 8);
  template <class Each>
  __device__ void for_each_fragment(Each&& each) {
#pragma unroll
    for (int i = 0; i < kFragments; ++i)
      each(i, sums_[i / kColTiles][i % kColTiles]);
  }

  /// Passes the sums to store(slab, Corner), 16 rows at a time, through S::kBytes of shared
  /// memory per warp. No warp may still read tiles from this shared memory.
  template <class Store>
  __device__ void store(char* shared, const Corner& block, Store&& store) const {
    Acc* const slab = reinterpret_cast<Acc*>(shared + T::warp() * S::kBytes);
    const int group = static_cast<int>(threadIdx.x % 32 / 4);
    const int place = static_cast<int>(threadIdx.x % 4);
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i) {
#pragma unroll
      for (int j = 0; j < kColTiles; ++j) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const auto pair = sums_[i][j].pair(half);
          Acc* const to = slab + (group + 8 * half) * S::kPitch + 8 * j + 2 * place;
          *reinterpret_cast<std::remove_const_t<decltype(pair)>*>(to) = pair;
        }
      }
      __syncwarp();
      store(static_cast<const Acc*>(slab),
            Corner{block.row + T::warp_row() + 16 * i, block.col + T::warp_col()});
      __syncwarp();
    }
  }

 private:
  static constexpr int kRowTiles = T::kWarpM / 16;
  static constexpr int kColTiles = T::kWarpN / 8;
  MmaSums<Acc> sums_[kRowTiles][kColTiles];
};

}  // namespace gpuexp
