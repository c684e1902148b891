// Matrix products with register tiles: division of a block's tile of C among warps and lanes,
// copies of slices of A and B to shared memory, and each thread's loads, multiply-adds and
// stores. Matrices are row-major without padding: A is m×k, B is k×n, C is m×n, with extents of
// at most 65536.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/common/cp_async.cuh"
#include "kernels/common/tile_order.cuh"

namespace gpuexp::register_tile {

/// kCount floats that a lane loads or stores in one access of at most 16 bytes.
template <int kCount>
struct alignas(sizeof(float) * kCount) Floats {
  float v[kCount];
};

/// Number of floats in the widest access to rows that start at multiples of `pitch` floats: an
/// N-byte access needs an address that is a multiple of N. For several matrices, pass the bitwise
/// OR of their pitches.
inline int width_dividing(std::int64_t pitch) {
  return pitch % 4 == 0 ? 4 : pitch % 2 == 0 ? 2 : 1;
}

/// A tile of C and its division among warps and lanes. Choice has the tuning constants:
///   kBlockM, kBlockN   rows and columns of C that a block computes
///   kBlockK            extent along k of one slice of A or B
///   kWarpM, kWarpN     rows and columns per warp
///   kLanesM            rows of lanes in a warp; 32 / kLanesM lanes per row
///   kPairedLanes       numbering of the lanes, see place_of
///   kSlots             number of slices of A and of B in shared memory
///   kBlocksPerSm       resident blocks per SM that the registers must allow
///   kGroupRows         rows of tiles in one group of the tile order, see grouped_tile
/// A lane has groups of four rows and four columns, for 128-bit accesses. Its groups have a
/// stride of kLanesM or kLanesN groups, so that the lanes of a warp access contiguous words.
template <class Choice>
struct Tile : Choice {
  static constexpr int kLanesN = 32 / Choice::kLanesM;
  static constexpr int kThreadM = Choice::kWarpM / Choice::kLanesM;
  static constexpr int kThreadN = Choice::kWarpN / kLanesN;
  static constexpr int kWarpsM = Choice::kBlockM / Choice::kWarpM;
  static constexpr int kWarpsN = Choice::kBlockN / Choice::kWarpN;
  static constexpr int kThreads = 32 * kWarpsM * kWarpsN;
  // A is stored transposed in shared memory, one row of kBlockM floats per k. Four floats of
  // padding keep rows aligned to 16 bytes and shift each row by four banks. One store of a warp
  // writes 8 k × 4 rows, or 2 chunks of 4 k × 16 rows, to 32 different banks.
  static constexpr int kPitchA = Choice::kBlockM + 4;
  static constexpr int kSliceA = Choice::kBlockK * kPitchA;  // floats
  static constexpr int kSliceB = Choice::kBlockK * Choice::kBlockN;
  static constexpr std::int64_t kSharedBytes = Choice::kSlots * (kSliceA + kSliceB) * sizeof(float);

  static_assert(32 % Choice::kLanesM == 0 && kThreadM % 4 == 0 && kThreadN % 4 == 0,
                "lanes must form a rectangle, and fragments are read 128 bits at a time");
  static_assert(Choice::kBlockM % Choice::kWarpM == 0 && Choice::kBlockN % Choice::kWarpN == 0,
                "warp tiles must divide the block's tile");
  static_assert(kThreadM * kThreadN <= 128,
                "the accumulators and two pairs of fragments must fit in 255 registers");
  static_assert(Choice::kBlockK % 8 == 0,
                "a slice must have whole 32-byte sectors of A, and an even depth for fragments");
  static_assert(Choice::kBlockM * Choice::kBlockK % (4 * kThreads) == 0 &&
                    Choice::kBlockN * Choice::kBlockK % (4 * kThreads) == 0,
                "every thread must copy the same number of 16-byte chunks");
};

struct Slot {
  float* a;  ///< kBlockK × kPitchA
  float* b;  ///< kBlockK × kBlockN
};

template <class Tile>
__device__ Slot slot_in(Floats<4>* shared, int index) {
  float* const first = reinterpret_cast<float*>(shared);
  return {first + index * Tile::kSliceA,
          first + Tile::kSlots * Tile::kSliceA + index * Tile::kSliceB};
}

/// Position of a block's tile in C, and of this thread's elements in the tile.
struct Place {
  std::int64_t row0;  ///< first row and column of the tile
  std::int64_t col0;
  int rows;  ///< number of rows and columns of the tile inside C
  int cols;
  int row;  ///< first row and column of the thread's first group, relative to the tile
  int col;
};

/// Requires a grid of ceil(m / kBlockM) × ceil(n / kBlockN) blocks of kThreads threads.
template <class Tile>
__device__ Place place_of(std::int64_t m, std::int64_t n) {
  const auto tile = grouped_tile<Tile::kGroupRows>();
  // A 128-bit shared load of a warp returns 512 bytes in four cycles, but needs only two cycles
  // if, in the whole warp, lanes i and i^1, or lanes i and i^2, read the same address (NVIDIA
  // developer forum, topic 77228). With kPairedLanes, lanes i and i^1 read the same address of B,
  // and lanes i and i^2 the same address of A.
  const int lane = threadIdx.x % 32;
  const int lane_m =
      Tile::kPairedLanes ? lane % 2 + lane / (2 * Tile::kLanesN) * 2 : lane / Tile::kLanesN;
  const int lane_n = Tile::kPairedLanes ? lane / 2 % Tile::kLanesN : lane % Tile::kLanesN;
  const int warp = threadIdx.x / 32;
  Place place;
  place.row0 = static_cast<std::int64_t>(tile.row) * Tile::kBlockM;
  place.col0 = static_cast<std::int64_t>(tile.column) * Tile::kBlockN;
  place.rows = static_cast<int>(min(m - place.row0, static_cast<std::int64_t>(Tile::kBlockM)));
  place.cols = static_cast<int>(min(n - place.col0, static_cast<std::int64_t>(Tile::kBlockN)));
  place.row = warp % Tile::kWarpsM * Tile::kWarpM + 4 * lane_m;
  place.col = warp / Tile::kWarpsM * Tile::kWarpN + 4 * lane_n;
  return place;
}

/// Iterates over slices of A and B of extent kBlockK along k, with kWidth floats per access to B.
/// The first slice has the remainder of k, so later slices need no bounds check. Rows and columns
/// outside C are clamped to the last one inside, and their results are not stored.
template <class Tile, int kWidth>
struct Slices {
  static constexpr int kChunksB = Tile::kBlockN / kWidth;
  static constexpr int kCountB = Tile::kBlockK * kChunksB / Tile::kThreads;

  const float* a;  ///< start of the next slice in the block's rows of A
  const float* b;  ///< start of the next slice in the block's columns of B
  int pitch_b;
  int count;  ///< number of slices
  int first;  ///< extent of the first slice, 1 to kBlockK
  int offset_b[kCountB];

  __device__ Slices(const Place& place, const float* a0, const float* b0, int n, int k)
      : a(a0 + place.row0 * k), b(b0 + place.col0), pitch_b(n) {
    count = (k + Tile::kBlockK - 1) / Tile::kBlockK;
    first = k - (count - 1) * Tile::kBlockK;
#pragma unroll
    for (int i = 0; i < kCountB; ++i)
      offset_b[i] = k_of_b(i) * n + min(col_of_b(i), place.cols - kWidth);
  }

  __device__ static int k_of_b(int i) {
    return (threadIdx.x + i * Tile::kThreads) / kChunksB;
  }
  __device__ static int col_of_b(int i) {
    return (threadIdx.x + i * Tile::kThreads) % kChunksB * kWidth;
  }
  __device__ static int word_of_b(int i) {
    return k_of_b(i) * Tile::kBlockN + col_of_b(i);
  }

  template <bool kFirst>
  __device__ void advance() {
    const int step = kFirst ? first : Tile::kBlockK;
    a += step;
    b += static_cast<std::int64_t>(step) * pitch_b;
  }
};

/// Copies slices through registers, with kWidth floats per access to A and B. Transposes A.
template <class Tile, int kWidth>
struct StagedSlices : Slices<Tile, kWidth> {
  using Base = Slices<Tile, kWidth>;
  using Vector = Floats<kWidth>;
  static constexpr int kChunksA = Tile::kBlockK / kWidth;
  static constexpr int kCountA = Tile::kBlockM * kChunksA / Tile::kThreads;

  int offset_a[kCountA];
  Vector staged_a[kCountA];
  Vector staged_b[Base::kCountB];

  __device__ StagedSlices(const Place& place, const float* a, const float* b, int n, int k)
      : Base(place, a, b, n, k) {
#pragma unroll
    for (int i = 0; i < kCountA; ++i)
      offset_a[i] = min(row_of_a(i), place.rows - 1) * k + k_of_a(i);
  }

  __device__ static int row_of_a(int i) {
    return (threadIdx.x + i * Tile::kThreads) / kChunksA;
  }
  __device__ static int k_of_a(int i) {
    return (threadIdx.x + i * Tile::kThreads) % kChunksA * kWidth;
  }

  /// Loads the next slice into registers. Only the first call is fetch<true>.
  template <bool kFirst = false>
  __device__ void fetch() {
#pragma unroll
    for (int i = 0; i < kCountA; ++i) {
      const bool valid = !kFirst || k_of_a(i) < this->first;
      staged_a[i] = valid ? *reinterpret_cast<const Vector*>(this->a + offset_a[i]) : Vector{};
    }
#pragma unroll
    for (int i = 0; i < Base::kCountB; ++i) {
      const bool valid = !kFirst || Base::k_of_b(i) < this->first;
      staged_b[i] =
          valid ? *reinterpret_cast<const Vector*>(this->b + this->offset_b[i]) : Vector{};
    }
    this->template advance<kFirst>();
  }

  __device__ void put(const Slot& slot) const {
#pragma unroll
    for (int i = 0; i < kCountA; ++i)
#pragma unroll
      for (int q = 0; q < kWidth; ++q)
        slot.a[(k_of_a(i) + q) * Tile::kPitchA + row_of_a(i)] = staged_a[i].v[q];
#pragma unroll
    for (int i = 0; i < Base::kCountB; ++i)
      *reinterpret_cast<Vector*>(slot.b + Base::word_of_b(i)) = staged_b[i];
  }
};

/// Copies slices by cp.async, with kWidth floats per access to B. Copies of A have 4 bytes, the
/// minimum of cp.async, so that each element can be stored transposed. A warp copies 8
/// neighbouring k of 4 rows, which are whole 32-byte sectors.
template <class Tile, int kWidth>
struct AsyncSlices : Slices<Tile, kWidth> {
  using Base = Slices<Tile, kWidth>;
  static constexpr int kLanesK = 8;
  static constexpr int kRows = Tile::kThreads / kLanesK;  // rows of A per pass of the block
  static constexpr int kCountA = Tile::kBlockM / kRows;
  static_assert(Tile::kBlockM % kRows == 0, "the block copies a slice of A in whole passes");

  int offset_a[kCountA];

  __device__ AsyncSlices(const Place& place, const float* a, const float* b, int n, int k)
      : Base(place, a, b, n, k) {
#pragma unroll
    for (int i = 0; i < kCountA; ++i)
      offset_a[i] = min(row_of_a(i), place.rows - 1) * k + threadIdx.x % kLanesK;
  }

  __device__ static int row_of_a(int i) {
    return threadIdx.x / kLanesK + i * kRows;
  }

  /// Starts the copy of the next slice to a slot. Only the first call is copy<true>.
  template <bool kFirst = false>
  __device__ void copy(const Slot& slot) {
#pragma unroll
    for (int i = 0; i < kCountA; ++i)
#pragma unroll
      for (int k0 = 0; k0 < Tile::kBlockK; k0 += kLanesK) {
        const int k = threadIdx.x % kLanesK + k0;
        const bool valid = !kFirst || k < this->first;
        cp_async<sizeof(float)>(slot.a + k * Tile::kPitchA + row_of_a(i),
                                valid ? this->a + offset_a[i] + k0 : this->a, valid);
      }
#pragma unroll
    for (int i = 0; i < Base::kCountB; ++i) {
      const bool valid = !kFirst || Base::k_of_b(i) < this->first;
      cp_async<sizeof(float) * kWidth>(slot.b + Base::word_of_b(i),
                                       valid ? this->b + this->offset_b[i] : this->b, valid);
    }
    this->template advance<kFirst>();
  }
};

template <class Tile>
struct Fragments {
  float a[Tile::kThreadM];
  float b[Tile::kThreadN];

  __device__ void load(const Slot& slot, const Place& place, int k) {
    read<Tile::kLanesM>(a, slot.a + k * Tile::kPitchA + place.row);
    read<Tile::kLanesN>(b, slot.b + k * Tile::kBlockN + place.col);
  }

 private:
  template <int kLanes, int kCount>
  __device__ static void read(float (&out)[kCount], const float* shared) {
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      const auto group = *reinterpret_cast<const Floats<4>*>(shared + i * kLanes);
#pragma unroll
      for (int q = 0; q < 4; ++q)
        out[i + q] = group.v[q];
    }
  }
};

/// A thread's sums, which become its elements of C.
template <class Tile>
struct Accumulators {
  float v[Tile::kThreadM][Tile::kThreadN] = {};

  /// Adds the outer product of two fragments. The column order alternates between rows, so each
  /// multiply-add shares an operand with the previous one. The register file delivers two
  /// operands per cycle, one from each of its two banks; the third operand must come from the
  /// operand reuse cache (Huerta et al., "Analyzing Modern NVIDIA GPU cores", 2025).
  __device__ void add(const Fragments<Tile>& f) {
#pragma unroll
    for (int i = 0; i < Tile::kThreadM; ++i)
#pragma unroll
      for (int step = 0; step < Tile::kThreadN; ++step) {
        const int j = i % 2 == 0 ? step : Tile::kThreadN - 1 - step;
        v[i][j] = fmaf(f.a[i], f.b[j], v[i][j]);
      }
  }

  /// Stores the elements inside C, with kWidth floats per access; kWidth must divide n.
  template <int kWidth>
  __device__ void store(const Place& place, float* c, std::int64_t n) const {
#pragma unroll
    for (int i = 0; i < Tile::kThreadM; ++i) {
      const int row = place.row + i % 4 + i / 4 * 4 * Tile::kLanesM;
      if (row >= place.rows) continue;
      float* const line = c + (place.row0 + row) * n + place.col0;
#pragma unroll
      for (int j = 0; j < Tile::kThreadN; j += kWidth) {
        const int col = place.col + j % 4 + j / 4 * 4 * Tile::kLanesN;
        if (col >= place.cols) continue;
        Floats<kWidth> out;
#pragma unroll
        for (int q = 0; q < kWidth; ++q)
          out.v[q] = v[i][j + q];
        *reinterpret_cast<Floats<kWidth>*>(line + col) = out;
      }
    }
  }
};

}  // namespace gpuexp::register_tile
