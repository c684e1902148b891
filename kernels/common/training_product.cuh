// The three products of a layer in training, with element-wise epilogues: x·W in forward, d·Wᵀ
// and xᵀ·d in backward. Kernels read transposed operands from memory without a separate
// transposition. Tensor cores multiply bf16 and fp16; multiply-adds compute fp32.
#pragma once

#include "kernels/common/gelu_slope.cuh"
#include "kernels/common/gemm.cuh"
#include "kernels/common/mma_pipeline.cuh"
#include "kernels/common/register_tile.cuh"

namespace gpuexp::training {

struct Extents {
  int m, n, k;
};

/// Row-major layout of an operand in memory. row_major: A is m×k, B is k×n. transposed: A is k×m,
/// B is n×k.
enum class OperandLayout { row_major, transposed };

// ---- on tensor cores

/// A WarpProduct whose operands may be transposed; ldmatrix loads 8×8 blocks with or without
/// transposition.
template <class In, class T, OperandLayout a_layout, OperandLayout b_layout>
class ProductOf : public WarpProduct<In, float, T> {
  using Base = WarpProduct<In, float, T>;
  static constexpr int kSize = static_cast<int>(sizeof(In));
  static constexpr int kDepth = T::template kDepth<In>;

 public:
  using A = std::conditional_t<a_layout == OperandLayout::transposed,
                               SharedTile<kDepth, T::kBlockM * kSize, TileLayout::swizzled>,
                               typename Base::A>;
  using B = std::conditional_t<b_layout == OperandLayout::transposed,
                               SharedTile<T::kBlockN, T::kDepthBytes, TileLayout::swizzled>,
                               typename Base::B>;
  using Fragments = typename Base::Fragments;

  __device__ static void load(Fragments& f, const char* a_tile, const char* b_tile, int step) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int k = step * kMmaDepth<In>;
#pragma unroll
    for (int i = 0; i < T::kWarpM / 16; ++i) {
      const int row = T::warp_row() + 16 * i;
      if constexpr (a_layout == OperandLayout::transposed) {
        ldmatrix_x4_transposed(f.a[i], a_tile + A::offset(k + lane / 16 * 8 + lane % 8,
                                                          (row + lane / 8 % 2 * 8) * kSize));
      } else {
        ldmatrix_x4(f.a[i], a_tile + A::offset(row + lane % 16, k * kSize + lane / 16 * 16));
      }
    }
#pragma unroll
    for (int j = 0; j < T::kWarpN / 8; j += 2) {
      const int column = T::warp_col() + 8 * j;
      unsigned r[4];  // two tiles of 8 columns, each with the first and the last 8 k of the step
      if constexpr (b_layout == OperandLayout::transposed) {
        ldmatrix_x4(r, b_tile + B::offset(column + lane / 16 * 8 + lane % 8,
                                          k * kSize + lane / 8 % 2 * 16));
      } else {
        ldmatrix_x4_transposed(r,
                               b_tile + B::offset(k + lane % 16, column * kSize + lane / 16 * 16));
      }
      f.b[j][0] = r[0];
      f.b[j][1] = r[1];
      f.b[j + 1][0] = r[2];
      f.b[j + 1][1] = r[3];
    }
  }

  __device__ static void advance(Window& a, Window& b) {
    if constexpr (a_layout == OperandLayout::transposed) {
      a.move_down(kDepth);
    } else {
      a.move_right(T::kDepthBytes);
    }
    if constexpr (b_layout == OperandLayout::transposed) {
      b.move_right(T::kDepthBytes);
    } else {
      b.move_down(kDepth);
    }
  }
};

// With 4-byte copies, addresses need more registers, so warps compute half the number of sums, and
// only one block fits on an SM.
template <int kUnitBytes>
using TensorTile = Pipeline<Tiling<128, 128, 64, 64, kUnitBytes == 16 ? 64 : 32>, 4>;

/// Passes 16 rows of a warp's sums to `then`, kWidth neighbouring sums at a time.
template <int kCols, int kWidth, class Then>
__device__ void finish_slab(const float* slab, const Extents& x, const Corner& at,
                            const Then& then) {
  using S = Slab<float, kCols>;
  const int rows = static_cast<int>(min(x.m - at.row, std::int64_t{S::kRows}));
  const int columns = static_cast<int>(min(x.n - at.col, std::int64_t{kCols}));
  for (int i = static_cast<int>(threadIdx.x % 32) * kWidth; i < S::kRows * kCols;
       i += 32 * kWidth) {
    const int row = i / kCols, column = i % kCols;
    if (row >= rows || column >= columns) continue;
    alignas(16) float v[kWidth];
    constexpr int kPart = kWidth < 4 ? kWidth : 4;
#pragma unroll
    for (int j = 0; j < kWidth; j += kPart)
      *reinterpret_cast<register_tile::Floats<kPart>*>(v + j) =
          *reinterpret_cast<const register_tile::Floats<kPart>*>(slab + row * S::kPitch + column +
                                                                 j);
    then((at.row + row) * x.n + at.col + column, static_cast<int>(at.col) + column, v);
  }
}

template <class In, OperandLayout a_layout, OperandLayout b_layout, int kUnitBytes, class Then>
__global__ void __launch_bounds__(TensorTile<kUnitBytes>::kThreads, kUnitBytes == 16 ? 2 : 1)
    tensor_product_kernel(Extents x, const In* a, const In* b, Then then) {
  using P = TensorTile<kUnitBytes>;
  constexpr unsigned kGroupRows = 16;  // rows of tiles, so that concurrent tiles are about a square
  extern __shared__ __align__(128) char shared[];
  const auto tile = grouped_tile<kGroupRows>();
  const Corner corner{static_cast<std::int64_t>(tile.row) * P::kBlockM,
                      static_cast<std::int64_t>(tile.column) * P::kBlockN};
  const Window of_a = a_layout == OperandLayout::transposed
                          ? Matrix<const In>{a, x.k, x.m}.window(0, corner.row)
                          : Matrix<const In>{a, x.m, x.k}.window(corner.row, 0);
  const Window of_b = b_layout == OperandLayout::transposed
                          ? Matrix<const In>{b, x.n, x.k}.window(corner.col, 0)
                          : Matrix<const In>{b, x.k, x.n}.window(0, corner.col);
  constexpr int kWidth = kUnitBytes == 16 ? 8 : 1;
  run_pipeline<ProductOf<In, P, a_layout, b_layout>, In, P, kUnitBytes>(
      shared, of_a, of_b, x.k, corner, [&](const float* slab, const Corner& at) {
        finish_slab<P::kWarpN, kWidth>(slab, x, at, then);
      });
}

// ---- by multiply-adds

struct FmaChoice {
  static constexpr int kBlockM = 128;
  static constexpr int kBlockN = 128;
  static constexpr int kBlockK = 16;
  static constexpr int kWarpM = 64;
  static constexpr int kWarpN = 32;
  static constexpr int kLanesM = 8;
  static constexpr bool kPairedLanes = true;
  static constexpr int kSlots = 3;
  static constexpr int kBlocksPerSm = 2;  // 64 sums and two pairs of fragments fit in 128 registers
  static constexpr int kGroupRows = 8;
};
using FmaTile = register_tile::Tile<FmaChoice>;

// A slice of A or B is stored in shared memory in rows of 128 floats, one row per k. Four floats
// of padding shift each row by four banks. If an operand's rows are contiguous along k, a warp
// copies 8 k × 4 rows at a time, and the shift puts these floats into 32 different banks.
inline constexpr int kFmaPitch = FmaTile::kBlockM + 4;
inline constexpr int kFmaSlice = FmaTile::kBlockK * kFmaPitch;
inline constexpr std::int64_t kFmaSharedBytes =
    FmaTile::kSlots * 2 * kFmaSlice * std::int64_t{sizeof(float)};
static_assert(FmaTile::kBlockM == FmaTile::kBlockN, "slices of A and B must have the same shape");

/// Starts the copy of a slice of 128 rows of A, or columns of B, whose first element is at
/// `from`. Rows `left` and above, and k `depth` and above, become zeros. If `along_k`, memory is
/// contiguous along k, and each copy has one element; otherwise kWidth elements.
template <bool along_k, int kWidth>
__device__ __forceinline__ void copy_slice(float* to, const float* from, int pitch, int left,
                                           int depth) {
  constexpr int kLanesK = 8;
  constexpr int kRows = FmaTile::kThreads / kLanesK;
  constexpr int kUnits = FmaTile::kBlockM / kWidth;
  constexpr int kCopies =
      FmaTile::kBlockK * (along_k ? FmaTile::kBlockM : kUnits) / FmaTile::kThreads;
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int i = 0; i < kCopies; ++i) {
    int row, k;
    if constexpr (along_k) {
      constexpr int kParts = FmaTile::kBlockK / kLanesK;
      row = thread / kLanesK + i / kParts * kRows;
      k = thread % kLanesK + i % kParts * kLanesK;
    } else {
      row = (thread + i * FmaTile::kThreads) % kUnits * kWidth;
      k = (thread + i * FmaTile::kThreads) / kUnits;
    }
    const bool valid = row < left && k < depth;
    const int offset = along_k ? row * pitch + k : k * pitch + row;  // at most 128 rows of 2^15
    cp_async<sizeof(float) * (along_k ? 1 : kWidth)>(to + k * kFmaPitch + row,
                                                     from + (valid ? offset : 0), valid);
  }
}

template <int kLanes, int kCount>
__device__ void read_fragment(float (&out)[kCount], const float* shared) {
#pragma unroll
  for (int i = 0; i < kCount; i += 4) {
    const auto group = *reinterpret_cast<const register_tile::Floats<4>*>(shared + i * kLanes);
#pragma unroll
    for (int q = 0; q < 4; ++q)
      out[i + q] = group.v[q];
  }
}

template <OperandLayout a_layout, OperandLayout b_layout, int kWidth, class Then>
__global__ void __launch_bounds__(FmaTile::kThreads, FmaTile::kBlocksPerSm)
    fma_product_kernel(Extents x, const float* a, const float* b, Then then) {
  constexpr bool a_along_k = a_layout == OperandLayout::row_major;
  constexpr bool b_along_k = b_layout == OperandLayout::transposed;
  extern __shared__ register_tile::Floats<4> slots[];
  const register_tile::Place place = register_tile::place_of<FmaTile>(x.m, x.n);
  const int pitch_a = a_along_k ? x.k : x.m;
  const int pitch_b = b_along_k ? x.k : x.n;
  const float* of_a = a + place.row0 * (a_along_k ? x.k : 1);
  const float* of_b = b + place.col0 * (b_along_k ? x.k : 1);
  const auto slot = [&](int slice) {
    return reinterpret_cast<float*>(slots) + slice % FmaTile::kSlots * 2 * kFmaSlice;
  };
  const int slices = (x.k + FmaTile::kBlockK - 1) / FmaTile::kBlockK;
  const auto copy = [&](int slice) {
    if (slice < slices) {
      const int depth = x.k - slice * FmaTile::kBlockK;
      copy_slice<a_along_k, kWidth>(slot(slice), of_a, pitch_a, place.rows, depth);
      copy_slice<b_along_k, kWidth>(slot(slice) + kFmaSlice, of_b, pitch_b, place.cols, depth);
      of_a += static_cast<std::int64_t>(FmaTile::kBlockK) * (a_along_k ? 1 : pitch_a);
      of_b += static_cast<std::int64_t>(FmaTile::kBlockK) * (b_along_k ? 1 : pitch_b);
    }
    cp_async_commit();
  };
#pragma unroll
  for (int i = 0; i < FmaTile::kSlots - 1; ++i)
    copy(i);
  register_tile::Accumulators<FmaTile> sums;
#pragma unroll 1
  for (int slice = 0; slice < slices; ++slice) {
    cp_async_wait<FmaTile::kSlots - 2>();
    __syncthreads();  // all threads' copies have arrived, and no warp reads the previous slice
    copy(slice + FmaTile::kSlots - 1);
    const float* const shared = slot(slice);
#pragma unroll
    for (int k = 0; k < FmaTile::kBlockK; ++k) {
      register_tile::Fragments<FmaTile> f;
      read_fragment<FmaTile::kLanesM>(f.a, shared + k * kFmaPitch + place.row);
      read_fragment<FmaTile::kLanesN>(f.b, shared + kFmaSlice + k * kFmaPitch + place.col);
      sums.add(f);
    }
  }
  cp_async_wait<0>();
#pragma unroll
  for (int i = 0; i < FmaTile::kThreadM; ++i) {
    const int row = place.row + i % 4 + i / 4 * 4 * FmaTile::kLanesM;
    if (row >= place.rows) continue;
#pragma unroll
    for (int j = 0; j < FmaTile::kThreadN; j += kWidth) {
      const int column = place.col + j % 4 + j / 4 * 4 * FmaTile::kLanesN;
      if (column >= place.cols) continue;
      float v[kWidth];
#pragma unroll
      for (int q = 0; q < kWidth; ++q)
        v[q] = sums.v[i][j + q];
      then((place.row0 + row) * x.n + place.col0 + column, static_cast<int>(place.col0) + column,
           v);
    }
  }
}

// ---- launching either

namespace detail {
template <class Tile, class Kernel, class T, class Then>
Steps launch_product(Kernel kernel, std::int64_t shared_bytes, const Extents& x, const T* a,
                     const T* b, const Then& then) {
  return launch(
      kernel,
      shape_of_tiles({x.m, x.n}, {Tile::kBlockM, Tile::kBlockN}, Tile::kThreads, shared_bytes), x,
      a, b, then);
}
}  // namespace detail

/// Computes C = A·B and passes its elements to `then` instead of storing them. then(place, column,
/// v) receives an array v of neighbouring elements of a row of C: the first has index `place` in
/// row-major C and is in column `column`. Rows of A, B and C must be multiples of 16 bytes.
template <OperandLayout a_layout, OperandLayout b_layout, class T, class Then>
Steps vector_product(const Extents& x, const T* a, const T* b, const Then& then) {
  if constexpr (std::is_same<T, float>::value) {
    return detail::launch_product<FmaTile>(fma_product_kernel<a_layout, b_layout, 4, Then>,
                                           kFmaSharedBytes, x, a, b, then);
  } else {
    using Tile = TensorTile<16>;
    return detail::launch_product<Tile>(tensor_product_kernel<T, a_layout, b_layout, 16, Then>,
                                        Tile::kSharedBytes, x, a, b, then);
  }
}
template <OperandLayout a_layout, OperandLayout b_layout, class T, class Then>
Steps element_product(const Extents& x, const T* a, const T* b, const Then& then) {
  if constexpr (std::is_same<T, float>::value) {
    return detail::launch_product<FmaTile>(fma_product_kernel<a_layout, b_layout, 1, Then>,
                                           kFmaSharedBytes, x, a, b, then);
  } else {
    using Tile = TensorTile<4>;
    return detail::launch_product<Tile>(tensor_product_kernel<T, a_layout, b_layout, 4, Then>,
                                        Tile::kSharedBytes, x, a, b, then);
  }
}
/// Computes C = A·B by vector_product() if `rows_aligned`, otherwise by element_product().
template <OperandLayout a_layout, OperandLayout b_layout, class T, class Then>
Steps product(const Extents& x, const T* a, const T* b, const Then& then, bool rows_aligned) {
  return rows_aligned ? vector_product<a_layout, b_layout>(x, a, b, then)
                      : element_product<a_layout, b_layout>(x, a, b, then);
}

inline std::optional<std::string> lacks_shared_memory_for_products(const DeviceSpec& device) {
  return lacks_shared_memory(
      device, std::max<std::int64_t>(
                  {kFmaSharedBytes, TensorTile<16>::kSharedBytes, TensorTile<4>::kSharedBytes}));
}

}  // namespace gpuexp::training
