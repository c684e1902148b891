// attention_backward/two_pass, in a translation unit of its own: nvcc compiles its kernels in
// parallel with the family's other kernels.
#include "kernels/attention_backward/keys.cuh"

namespace gpuexp::attention_backward {

// ---- two_pass: separate kernels for dK, dV and for dQ
//
// The first kernel accumulates dK and dV in registers, as tiles_ahead does, but does not compute
// dQ. In the second kernel a block has 128 queries, iterates over the keys that they attend to, and
// accumulates dQ in registers. L2 executes no atomic operations (global_reduction_requests
// decreases), and each sum has a fixed order, so results are bitwise identical. The cost is that
// the second kernel recomputes S and dP: seven products instead of five, and tensor_instructions
// increases by two fifths.

constexpr int kGradientKeys = 32;

template <int kDim>
constexpr int kQueryBlockBytes = (2 * kQueries + 4 * kGradientKeys) * RowTile<kDim>::kPitch;

template <class In, int kDim, bool kHasDropout>
__global__ void __launch_bounds__(kBlock, 2)
    queries_kernel(Heads heads, GradientOperands<In> x, In* to) {
  using Tile = RowTile<kDim>;
  constexpr int kRowTiles = kQueries / (16 * kWarps);
  using Warp = WarpAttention<In, kDim, kRowTiles, kGradientKeys>;
  constexpr int kTileBytes = kGradientKeys * Tile::kPitch;
  extern __shared__ __align__(16) char shared[];
  char* const d_o_tile = shared + kQueries * Tile::kPitch;
  char* const key_tiles = d_o_tile + kQueries * Tile::kPitch;
  const AttendedKeys& allowed = heads.allowed;
  const int warp_row = threadIdx.x / 32 * Warp::kRows;
  char* const q_own = shared + warp_row * Tile::kPitch;
  char* const d_o_own = d_o_tile + warp_row * Tile::kPitch;
  const std::int64_t head = blockIdx.y;
  // With a causal mask the last queries attend to the most keys: their blocks start first.
  const int query = static_cast<int>(gridDim.x - 1 - blockIdx.x) * kQueries;
  const std::int64_t row = heads.first_query(head) + query;
  const TileRange<kGradientKeys> range(allowed, query, true);
  const auto begin = [&](int tile) {
    const std::int64_t at = (heads.first_key(head) + tile * kGradientKeys) * kDim;
    const int left = allowed.keys - tile * kGradientKeys;
    char* const to_tile = key_tiles + tile % 2 * 2 * kTileBytes;
    copy_rows_async<kDim, kGradientKeys>(to_tile, x.x.k + at, left);
    copy_rows_async<kDim, kGradientKeys>(to_tile + kTileBytes, x.x.v + at, left);
    cp_async_commit();
  };
  copy_rows_async<kDim, kQueries>(shared, x.x.q + row * kDim, allowed.queries - query);
  copy_rows_async<kDim, kQueries>(d_o_tile, x.d_o + row * kDim, allowed.queries - query);
  cp_async_commit();
  if (range.first < range.end) begin(range.end - 1);
  float log_sum2[kRowTiles][2], delta[kRowTiles][2];
#pragma unroll
  for (int i = 0; i < kRowTiles; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at = query + warp_row + accumulator_row(i, half);
      const bool in_bounds = at < allowed.queries;
      const std::int64_t from = head * padded_rows(allowed.queries) + (in_bounds ? at : 0);
      log_sum2[i][half] = in_bounds ? x.log_sum2[from] : INFINITY;
      delta[i][half] = x.delta[from];
    }
  }
  MmaSums<float> dq[kRowTiles][kDim / 8] = {};
#pragma unroll 1
  for (int tile = range.end - 1; tile >= range.first; --tile) {
    cp_async_wait<0>();
    __syncthreads();  // the tiles have arrived, and all warps have read the previous ones
    if (tile > range.first) begin(tile - 1);
    const char* const k_tile = key_tiles + tile % 2 * 2 * kTileBytes;
    const int key = tile * kGradientKeys;
    constexpr int kColumnTiles = kGradientKeys / 8;
    const unsigned kept = dropout_mask<kHasDropout, kRowTiles * kColumnTiles>([&](int tile_index) {
      return dropout_mask_of_tile(heads, row + warp_row + tile_index / kColumnTiles * 16,
                                  key + tile_index % kColumnTiles * 8);
    });
    typename Warp::Scores p, ds;
    Warp::multiply(p, q_own, k_tile);
    Warp::multiply(ds, d_o_own, k_tile + kTileBytes);
    if (!range.is_whole(tile))
      Warp::apply_mask(p, allowed, key, [&](int i) { return query + warp_row + i; });
    compute_weights(p, heads.scale * kLog2E,
                    [&](int i, int half, int, int) { return log_sum2[i][half]; });
    compute_score_gradients<kHasDropout>(
        p, ds, heads, [&](int i, int half, int, int) { return delta[i][half]; }, kept);
    accumulate_product<In, kDim, kRowTiles, kGradientKeys>(dq, ds, k_tile);
  }
  cp_async_wait<0>();
  __syncthreads();
  store_sums<kDim, kRowTiles>(dq, q_own, to + (row + warp_row) * kDim,
                              allowed.queries - query - warp_row,
                              [&](int, int) { return heads.scale; });
}

template <class In, int kDim, bool kHasDropout>
Steps launch_two_passes(const Problem& p, const Data& d, void* workspace) {
  const RowWorkspace at = row_workspace(p, workspace);
  return launch_rows<In>(p, d, at) + launch_keys<In, kDim, 2, false, kHasDropout>(p, d, at) +
         launch(queries_kernel<In, kDim, kHasDropout>,
                shape_of(p, kBlock, {ceil_div(p.queries, kQueries), p.batch * p.heads, 1},
                         kQueryBlockBytes<kDim>),
                heads_of(p), gradient_operands<In>(d, at), static_cast<In*>(d.dq));
}

// Called by training steps (kernels/common/attention_steps.cuh).
Steps launch_two_pass_gradients(const Problem& p, const Data& d, void* workspace) {
  return with_type_and_dim(p, [&](auto in, auto dim) {
    return launch_two_passes<decltype(in), dim(), false>(p, d, workspace);
  });
}

Variant two_pass() {
  Variant v = variant("two_pass", "tiles_ahead",
                      {{"global_reduction_requests", Direction::decreases, 10, is_large},
                       {"tensor_instructions", Direction::increases, 1.2, is_large}});
  v.deterministic = true;
  v.unsupported = [](const Problem& p, const DeviceSpec& device) {
    return lacks_shared_memory_for_tiles(p, device, 2);
  };
  set_workspace(v, no_bytes, no_bytes);
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& context) {
    return with_dropout(p, [&](auto in, auto dim, auto drops) {
      return launch_two_passes<decltype(in), dim(), drops()>(p, d, context.workspace);
    });
  };
  return v;
}

}  // namespace gpuexp::attention_backward
