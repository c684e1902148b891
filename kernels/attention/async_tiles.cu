// attention/async_tiles and lazy_rescale, in a translation unit of their own: nvcc compiles their
// kernels in parallel with the family's other kernels.
#include "kernels/attention/fused_launch.cuh"

namespace gpuexp::attention {

// ---- async_tiles: copies during the products
//
// cp.async copies a tile of values while the warps compute scores, and the next tile of keys while
// the warps convert scores to weights. Copies in flight occupy no registers. Warps rarely wait for
// memory: stalled_long_scoreboard decreases. This variant also supports dropout, whose random bits
// are computed from each weight's position.

template <class In, int kDim, bool kHasDropout>
__global__ void __launch_bounds__(kBlock, 2)
    async_tiles_kernel(Heads heads, Operands<In> x, In* o, float* log_sum, float slack) {
  using Tile = RowTile<kDim>;
  // Dropout's random bits occupy registers, so tiles have half as many keys.
  constexpr int kKeys = kTileKeys<kDim> / (kHasDropout ? 2 : 1);
  using Warp = WarpAttention<In, kDim, kQueries / (16 * kWarps), kKeys>;
  extern __shared__ __align__(16) char shared[];
  char* const k_tile = shared + kQueries * Tile::kPitch;
  char* const v_tile = k_tile + kKeys * Tile::kPitch;
  const int warp_row = threadIdx.x / 32 * Warp::kRows;
  char* const own = shared + warp_row * Tile::kPitch;
  const int blocks_of_head = ceil_div(heads.allowed.queries, kQueries);
  const std::int64_t head = blockIdx.y;
  const In* const k = x.k + heads.first_key(head) * kDim;
  const In* const v = x.v + heads.first_key(head) * kDim;
  const AttendedKeys& allowed = heads.allowed;
  // With a causal mask the last queries attend to the most keys: their blocks start first.
  const int query = static_cast<int>(gridDim.x - 1 - blockIdx.x) * kQueries;
  const int left = allowed.queries - query;
  const std::int64_t row = heads.first_query(head) + query;
  const TileRange<kKeys> range(allowed, query, true);
  const auto begin = [&](char* tile, const In* from, int index) {
    copy_rows_async<kDim, kKeys>(tile, from + index * kKeys * kDim, allowed.keys - index * kKeys);
    cp_async_commit();
  };
  copy_rows_async<kDim, kQueries>(shared, x.q + row * kDim, left);
  cp_async_commit();
  if (range.first < range.end) begin(k_tile, k, range.end - 1);
  Warp warp;
#pragma unroll 1
  for (int tile = range.end - 1; tile >= range.first; --tile) {
    cp_async_wait<0>();
    __syncthreads();  // keys have arrived, and all warps have finished with the previous values
    begin(v_tile, v, tile);
    typename Warp::Scores s;
    Warp::multiply(s, own, k_tile);
    cp_async_wait<0>();
    __syncthreads();  // values have arrived, and all warps have finished with the keys
    if (tile > range.first) begin(k_tile, k, tile - 1);
    if (!range.is_whole(tile))
      Warp::apply_mask(s, allowed, tile * kKeys, [&](int i) { return query + warp_row + i; });
    warp.online_softmax(s, heads.scale * kLog2E, slack);
    if (kHasDropout) Warp::drop(s, heads, row + warp_row, tile * kKeys);
    warp.add(s, v_tile);
  }
  cp_async_wait<0>();
  __syncthreads();
  warp.store(own, o + (row + warp_row) * kDim, log_sum + row + warp_row, left - warp_row,
             kHasDropout ? 1.0f / (1.0f - heads.dropout) : 1.0f);
}

Variant async(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected,
              float slack) {
  Variant v = variant(std::move(id), std::move(compare_to), std::move(expected));
  v.launch = [=](const Problem& p, const Data& d, const LaunchContext&) {
    const auto launch_with = [&](auto drops) {
      return launch_fused(
          p, d,
          [](auto in, auto dim) {
            return async_tiles_kernel<decltype(in), decltype(dim)::value, decltype(drops)::value>;
          },
          tile_bytes(p), ceil_div(p.queries, kQueries), slack);
    };
    return p.dropout > 0 ? launch_with(std::true_type{}) : launch_with(std::false_type{});
  };
  return v;
}

Variant async_tiles() {
  return async("async_tiles", "mask_edges",
               {{"stalled_long_scoreboard", Direction::decreases, 2, has_many_tiles}}, 0.0f);
}

// ---- lazy_rescale: conditional rescaling in the online softmax
//
// async_tiles rescales its output accumulators (head_dim fp32 registers per thread) whenever a row
// maximum grows. This variant rescales only if a score exceeds the stored maximum by more than 8
// powers of two, as FlashAttention-4 does: fma_instructions decreases. Weights of up to 2^8 keep
// their precision, and normalization cancels the common factor. The branch is warp-uniform.

constexpr float kSlack = 8.0f;

Variant lazy_rescale() {
  return async("lazy_rescale", "async_tiles",
               {{"fma_instructions", Direction::decreases, 1.02, is_large}}, kSlack);
}

Steps launch_lazy_rescale(const Problem& p, const Data& d) {
  return launch_fused(
      p, d,
      [](auto in, auto dim) {
        return async_tiles_kernel<decltype(in), decltype(dim)::value, false>;
      },
      tile_bytes(p), ceil_div(p.queries, kQueries), kSlack);
}

}  // namespace gpuexp::attention
