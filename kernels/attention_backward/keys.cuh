// Launch helpers of all attention_backward variants, and the kernel that computes dK and dV with
// recomputed weights.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "kernels/common/attention_family.cuh"
#include "kernels/common/attention_gradient_rows.cuh"
#include "kernels/common/attention_steps.cuh"

namespace gpuexp::attention_backward {

using namespace attention;

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

inline Work work(const Problem& p) {
  const std::int64_t of_rows = p.rows() * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t read = (3 * p.query_elements() + 2 * p.key_elements()) * element_bytes(p);
  const std::int64_t written = (p.query_elements() + 2 * p.key_elements()) * element_bytes(p);
  constexpr double kProducts = 5;
  return moves_bytes(static_cast<double>(read + of_rows), static_cast<double>(written)) +
         computes(tensor_pipe(p), kProducts * product_operations(p));
}

inline Variant variant(std::string id, std::string compare_to,
                       ExpectedChangesOf<Problem> expected) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.writes = {"dq", "dk", "dv"};
  v.min_compute_capability = kMmaBf16ComputeCapability;
  v.work = work;
  return v;
}

template <class In>
const In* in(const void* from) {
  return static_cast<const In*>(from);
}

template <class In>
Steps launch_rows(const Problem& p, const Data& d, const RowWorkspace& at) {
  return attention::launch_rows(p, in<In>(d.o), in<In>(d.d_o), d.log_sum, at);
}

// ---- blocks of keys

/// Computes dK and dV of a block of keys. If kAccumulatesDq, adds the block's contribution to dQ to
/// `dq_sums`. With two stages, copies of the next tile of queries are in flight during the
/// products.
template <class In, int kDim, int kStages, bool kAccumulatesDq, bool kHasDropout>
__global__ void __launch_bounds__(kKeyThreads, 1)
    keys_kernel(Heads heads, GradientOperands<In> x, KeyGradients<In> to, float* dq_sums) {
  using Tile = RowTile<kDim>;
  using Warp = WarpAttention<In, kDim, 1, kTileQueries>;
  extern __shared__ __align__(16) char shared[];
  const KeyBlockTiles<kDim, kStages, kAccumulatesDq> tiles{shared};
  const AttendedKeys& allowed = heads.allowed;
  const int key_row = threadIdx.x / 32 * 16;
  const std::int64_t head_of_keys = blockIdx.y;
  const int key = blockIdx.x * kBlockKeys;
  const std::int64_t first_key = head_of_keys * allowed.keys + key;
  const QueryRange range(allowed, key);
  const int of_head = max(range.end - range.first, 0);
  const int steps = of_head * heads.group;
  const auto head_of = [&](int step) { return head_of_keys * heads.group + step / of_head; };
  const auto query_of = [&](int step) { return (range.first + step % of_head) * kTileQueries; };
  const auto begin = [&](int step) {
    const int stage = step % kStages, query = query_of(step);
    const std::int64_t head = head_of(step);
    const std::int64_t at = (heads.first_query(head) + query) * kDim;
    copy_rows_async<kDim, kTileQueries, kKeyThreads>(tiles.q(stage), x.x.q + at,
                                                     allowed.queries - query);
    copy_rows_async<kDim, kTileQueries, kKeyThreads>(tiles.d_o(stage), x.d_o + at,
                                                     allowed.queries - query);
    constexpr int kUnits = kTileQueries / 4;  // 16-byte vectors in kTileQueries floats
    if (threadIdx.x < 2 * kUnits) {
      const std::int64_t row = head * padded_rows(allowed.queries) + query;
      const int unit = threadIdx.x % kUnits * 4;
      const bool is_delta = threadIdx.x >= kUnits;
      cp_async<16>((is_delta ? tiles.delta(stage) : tiles.log_sum2(stage)) + unit,
                   (is_delta ? x.delta : x.log_sum2) + row + unit, true);
    }
    cp_async_commit();
  };
  copy_rows_async<kDim, kBlockKeys, kKeyThreads>(tiles.k(), x.x.k + first_key * kDim,
                                                 allowed.keys - key);
  copy_rows_async<kDim, kBlockKeys, kKeyThreads>(tiles.v(), x.x.v + first_key * kDim,
                                                 allowed.keys - key);
  cp_async_commit();
  if (kStages > 1 && steps > 0) begin(0);
  char* const k_own = tiles.k() + key_row * Tile::kPitch;
  char* const v_own = tiles.v() + key_row * Tile::kPitch;
  MmaSums<float> dk[1][kDim / 8] = {};
  MmaSums<float> dv[1][kDim / 8] = {};
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    const int stage = step % kStages, query = query_of(step);
    if (kStages == 1) {
      __syncthreads();  // all warps have read the previous tiles
      begin(step);
    }
    cp_async_wait<0>();
    __syncthreads();  // the tiles have arrived, and all warps have read the previous ones
    if (kStages > 1 && step + 1 < steps) begin(step + 1);
    const unsigned kept = dropout_mask<kHasDropout, kTileQueries / 8>([&](int tile) {
      return dropout_mask_of_transposed_tile(
          heads, heads.first_query(head_of(step)) + query + 8 * tile, key + key_row);
    });
    typename Warp::Scores p, ds;
    Warp::multiply(p, k_own, tiles.q(stage));
    Warp::multiply(ds, v_own, tiles.d_o(stage));
    const float* const log_sum2 = tiles.log_sum2(stage);
    const float* const delta = tiles.delta(stage);
    compute_weights(p, heads.scale * kLog2E,
                    [&](int, int, int j, int c) { return log_sum2[accumulator_column(j, c)]; });
    if (!range.is_whole(allowed, query)) apply_mask_transposed(p, allowed, key + key_row, query);
    compute_score_gradients<kHasDropout>(
        p, ds, heads, [&](int, int, int j, int c) { return delta[accumulator_column(j, c)]; },
        kept);
    if (kAccumulatesDq) store_transposed<In>(ds, tiles.scores(), key_row);
    accumulate_product<In, kDim, 1, kTileQueries>(dv, p, tiles.d_o(stage));
    accumulate_product<In, kDim, 1, kTileQueries>(dk, ds, tiles.q(stage));
    if (kAccumulatesDq) {
      __syncthreads();  // all warps have stored their dSᵀ
      TileGradient<In, kDim> dq;
      dq.multiply(tiles.scores(), tiles.k());
      dq.add_to(dq_sums + dq_sums_offset(head_of(step), allowed.queries, query, kDim));
    }
  }
  cp_async_wait<0>();
  __syncthreads();
  const std::int64_t own = (first_key + key_row) * kDim;
  const int left = allowed.keys - key - key_row;
  store_sums<kDim, 1>(dk, k_own, to.dk + own, left, [&](int, int) { return heads.scale; });
  store_sums<kDim, 1>(dv, v_own, to.dv + own, left, [](int, int) { return 1.0f; });
}

template <class In>
GradientOperands<In> gradient_operands(const Data& d, const RowWorkspace& at) {
  return {{static_cast<const In*>(d.q), static_cast<const In*>(d.k), static_cast<const In*>(d.v)},
          static_cast<const In*>(d.d_o),
          at.log_sum2,
          at.delta};
}

template <class In, int kDim, int kStages, bool kAccumulatesDq, bool kHasDropout>
Steps launch_keys(const Problem& p, const Data& d, const RowWorkspace& at) {
  const Extent blocks{ceil_div(p.keys, kBlockKeys), p.batch * p.key_heads(), 1};
  return launch(
      keys_kernel<In, kDim, kStages, kAccumulatesDq, kHasDropout>,
      shape_of(p, kKeyThreads, blocks, KeyBlockTiles<kDim, kStages, kAccumulatesDq>::kBytes),
      heads_of(p), gradient_operands<In>(d, at),
      KeyGradients<In>{static_cast<In*>(d.dk), static_cast<In*>(d.dv)},
      static_cast<float*>(at.own));
}

/// Computes dK and dV, sums dQ in fp32 by atomic operations, and rounds the sums.
template <class In, int kDim, int kStages, bool kHasDropout>
Steps launch_atomics(const Problem& p, const Data& d, const RowWorkspace& at) {
  return launch_rows<In>(p, d, at) + Steps(MemsetStep{at.own, 0, sum_bytes(p)}) +
         launch_keys<In, kDim, kStages, true, kHasDropout>(p, d, at) +
         launch_round_dq<In, kDim>(p, static_cast<const float*>(at.own), static_cast<In*>(d.dq));
}

/// True if the scores exceed L2 by far, there are more blocks than SMs, and each block iterates
/// over many tiles: then the expected changes hold.
inline bool is_large(const Problem& p) {
  constexpr std::int64_t kManyScores = std::int64_t{1} << 27, kManyRows = 32768, kManyKeys = 1024;
  return p.rows() * p.keys >= kManyScores && p.rows() >= kManyRows &&
         p.batch * p.key_heads() * p.keys >= kManyRows &&
         attended_pairs(p) >= kManyKeys * std::max(p.queries, p.keys);
}

inline std::optional<std::string> lacks_shared_memory_for_tiles(const Problem& p,
                                                                const DeviceSpec& device,
                                                                int stages) {
  return with_type_and_dim(p, [&](auto, auto dim) {
    return lacks_shared_memory(device, stages == 1 ? KeyBlockTiles<dim(), 1, true>::kBytes
                                                   : KeyBlockTiles<dim(), 2, true>::kBytes);
  });
}

// Defined in tiles_ahead.cu and two_pass.cu.
Variant tiles_ahead();
Variant two_pass();

}  // namespace gpuexp::attention_backward
