// Products on tensor cores with a queries × keys matrix in memory, such as P: A·B sums over keys,
// Aᵀ·B over queries.
#pragma once

#include "kernels/common/attention_gradient_rows.cuh"

namespace gpuexp::attention {

/// A has one row of `pitch` elements per query. B has one row of head_dim elements per key (for
/// A·B) or per query (for Aᵀ·B).
template <class In>
struct ScoreProduct {
  const In* a;
  std::int64_t pitch;
  const In* b;
  In* to;
  float factor;
};

constexpr int kProductRows = 128;
constexpr int kProductDepth = 64;
constexpr int kProductThreads = 32 * kProductRows / 16;

template <int kDim, bool kTransposes>
struct ProductStage {
  static constexpr int kRows = kTransposes ? kProductDepth : kProductRows;  ///< rows of A's tile
  static constexpr int kColumns = kTransposes ? kProductRows : kProductDepth;
  static constexpr int kBytesOfA = kRows * RowTile<kColumns>::kPitch;
  static constexpr int kBytes = kBytesOfA + kProductDepth * RowTile<kDim>::kPitch;
};

/// A block computes 128 rows of the result, 16 per warp. It sums over the other dimension of A in
/// steps of 64; for Aᵀ, also over all query heads that share keys.
template <class In, int kDim, bool kTransposes>
__global__ void __launch_bounds__(kProductThreads, 2)
    score_product_kernel(Heads heads, ScoreProduct<In> x) {
  using Stage = ProductStage<kDim, kTransposes>;
  using A = RowTile<Stage::kColumns>;
  using B = RowTile<kDim>;
  extern __shared__ __align__(16) char shared[];
  const AttendedKeys& allowed = heads.allowed;
  const int rows = kTransposes ? allowed.keys : allowed.queries;
  const int depth = kTransposes ? allowed.queries : allowed.keys;
  const std::int64_t head_of_rows = blockIdx.y;
  const int row = blockIdx.x * kProductRows;
  const int head_steps = ceil_div(depth, kProductDepth);
  const int steps = head_steps * (kTransposes ? heads.group : 1);
  const auto begin = [&](int step) {
    const std::int64_t head =
        kTransposes ? head_of_rows * heads.group + step / head_steps : head_of_rows;
    const int at = step % head_steps * kProductDepth;
    const int query = kTransposes ? at : row, key = kTransposes ? row : at;
    char* const stage = shared + step % 2 * Stage::kBytes;
    const In* const a = x.a + (heads.first_query(head) + query) * x.pitch + key;
#pragma unroll
    for (int pass = 0; pass < Stage::kRows * A::kUnits / kProductThreads; ++pass) {
      const int i = threadIdx.x + pass * kProductThreads;
      const int a_row = i / A::kUnits, unit = i % A::kUnits;
      const bool in_bounds = a_row < allowed.queries - query && unit * 8 < x.pitch - key;
      cp_async<16>(stage + A::offset(a_row, unit * 16),
                   a + (in_bounds ? a_row * x.pitch + unit * 8 : 0), in_bounds);
    }
    const std::int64_t b_row = kTransposes ? heads.first_query(head) : heads.first_key(head);
    copy_rows_async<kDim, kProductDepth, kProductThreads>(stage + Stage::kBytesOfA,
                                                          x.b + (b_row + at) * kDim, depth - at);
    cp_async_commit();
  };
  begin(0);
  const int lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 * 16;
  MmaSums<float> sums[1][kDim / 8] = {};
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    cp_async_wait<0>();
    __syncthreads();  // the tiles have arrived, and no warp reads the previous tiles
    if (step + 1 < steps) begin(step + 1);
    const char* const a = shared + step % 2 * Stage::kBytes;
    const char* const b = a + Stage::kBytesOfA + B::offset(lane % 16, lane / 16 * 16);
#pragma unroll
    for (int k = 0; k < kProductDepth; k += 16) {
      unsigned of_a[4];
      if (kTransposes)
        ldmatrix_x4_transposed(
            of_a, a + A::offset(k + lane / 16 * 8 + lane % 8, 2 * warp_row + lane / 8 % 2 * 16));
      else
        ldmatrix_x4(of_a, a + A::offset(warp_row + lane % 16, 2 * k + lane / 16 * 16));
#pragma unroll
      for (int j = 0; j < kDim / 8; j += 2) {
        unsigned of_b[4];
        ldmatrix_x4_transposed(of_b, b + k * B::kPitch + 16 * j);
        mma<In>(sums[0][j], of_a, {of_b[0], of_b[1]});
        mma<In>(sums[0][j + 1], of_a, {of_b[2], of_b[3]});
      }
    }
  }
  __syncthreads();
  const std::int64_t first = head_of_rows * rows + row + warp_row;
  store_sums<kDim, 1>(sums, shared + warp_row * B::kPitch, x.to + first * kDim,
                      rows - row - warp_row, [&](int, int) { return x.factor; });
}

template <int kDim, bool kTransposes, class In>
Steps launch_score_product(const Problem& p, const ScoreProduct<In>& x) {
  const std::int64_t rows = kTransposes ? p.keys : p.queries;
  const std::int64_t heads = p.batch * (kTransposes ? p.key_heads() : p.heads);
  const Extent blocks{ceil_div(rows, kProductRows), heads, 1};
  return launch(score_product_kernel<In, kDim, kTransposes>,
                shape_of(p, kProductThreads, blocks, 2 * ProductStage<kDim, kTransposes>::kBytes),
                heads_of(p), x);
}

inline std::optional<std::string> lacks_shared_memory_for_product(const DeviceSpec& device) {
  return lacks_shared_memory(
      device, 2 * std::max(ProductStage<128, false>::kBytes, ProductStage<128, true>::kBytes));
}

}  // namespace gpuexp::attention
