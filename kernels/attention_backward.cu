// attention_backward: gradients of Q, K and V, given that of O = softmax(Q·Kᵀ)·V.
//
// The question: is it faster to store P for the backward pass, or to recompute it? The gradients
// take four products if P = softmax(S) is stored, and five if not: S = Q·Kᵀ is recomputed, and from
// it P = e^(S - L), with one number L per row that the forward pass stores. A quarter more products
// and an exponential per score replace a matrix of queries times keys that is stored to DRAM and
// loaded again. With D = rowsum(dO∘O): dP = dO·Vᵀ, dS = P∘(dP - D), dV = Pᵀ·dO, dQ = dS·K,
// dK = dSᵀ·Q. dV and dK are sums over queries, dQ is a sum over keys: a kernel that accumulates two
// of them in registers must sum the third in memory, or recompute S and dP (Dao,
// "FlashAttention-2", 2023).
#include <algorithm>
#include <cmath>

#include "kernels/attention_backward/reference.cuh"
#include "kernels/common/attention_family.cuh"
#include "kernels/common/attention_score_product.cuh"

namespace gpuexp::attention_backward {

using namespace attention;

// ---- stored: attention weights from memory
//
// The forward pass has stored P, 16 bits for each query and key, and each step is a kernel over
// matrices of that size. One loads P, computes dP = dO·Vᵀ on tensor cores and stores dS = P∘(dP -
// D); three products follow, Pᵀ·dO, dSᵀ·Q and dS·K, which load P or dS once more, so
// dram_read_bytes and dram_write_bytes grow with queries times keys. So does the memory that P
// takes from the forward pass on (peak_bytes).

constexpr int kScoreKeys = 64;

template <class In, int kDim>
__global__ void __launch_bounds__(kBlock)
    score_gradients_kernel(Heads heads, const In* v, const In* d_o, const float* delta, const In* p,
                           In* ds, std::int64_t pitch) {
  using Tile = RowTile<kDim>;
  constexpr int kRowTiles = kQueries / (16 * kWarps);
  using Warp = WarpAttention<In, kDim, kRowTiles, kScoreKeys>;
  extern __shared__ __align__(16) char shared[];
  char* const v_tile = shared + kQueries * Tile::kPitch;
  const AllowedKeys& allowed = heads.allowed;
  const std::int64_t head = blockIdx.z;
  const int query = blockIdx.y * kQueries;
  const int key = blockIdx.x * kScoreKeys;
  const int warp_row = threadIdx.x / 32 * Warp::kRows;
  const int left = allowed.queries - query;
  const std::int64_t first_row = heads.first_query(head) + query;
  load_rows<kDim, kQueries>(shared, d_o + first_row * kDim, left);
  load_rows<kDim, kScoreKeys>(v_tile, v + (heads.first_key(head) + key) * kDim, allowed.keys - key);
  __syncthreads();
  char* const own = shared + warp_row * Tile::kPitch;
  typename Warp::Scores d;
  Warp::multiply(d, own, v_tile);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < kRowTiles; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = warp_row + row_of_sums(i, half);
      const bool is_there = row < left;
      const float of_row =
          is_there ? delta[head * padded_rows(allowed.queries) + query + row] : 0.0f;
#pragma unroll
      for (int j = 0; j < kScoreKeys / 8; ++j) {
        const int column = column_of_sums(j, 0);
        float2 weights = make_float2(0.0f, 0.0f);
        if (is_there && key + column < pitch)
          weights = widen(load_pack<2>(p + (first_row + row) * pitch + key + column).pairs[0]);
        const float2 pair = d[i][j].pair(half);
        *reinterpret_cast<unsigned*>(own + Tile::offset(row_of_sums(i, half), 2 * column)) =
            rounded_pair<In>(weights.x * (pair.x - of_row), weights.y * (pair.y - of_row));
      }
    }
  }
  __syncwarp();
  store_rows<kScoreKeys, Warp::kRows, Tile::kPitch>(own, ds + (first_row + warp_row) * pitch + key,
                                                    pitch, left - warp_row,
                                                    static_cast<int>(pitch) - key);
}

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

Work work(const Problem& p) {
  const std::int64_t of_rows = p.rows() * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t read = (3 * p.query_elements() + 2 * p.key_elements()) * element_bytes(p);
  const std::int64_t written = (p.query_elements() + 2 * p.key_elements()) * element_bytes(p);
  constexpr double kProducts = 5;
  return moves_bytes(static_cast<double>(read + of_rows), static_cast<double>(written)) +
         computes(tensor_pipe(p), kProducts * product_operations(p));
}

Variant variant(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected) {
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

std::optional<std::string> has_no_dropout(const Problem& p) {
  if (p.dropout == 0) return std::nullopt;
  return "has no dropout: attention_backward/tiles_ahead and two_pass do";
}

template <class In, int kDim>
Steps launch_stored(const Problem& p, const Data& d, const RowWorkspace& at) {
  const std::int64_t pitch = stored_pitch(p);
  In* const ds = static_cast<In*>(at.own);
  const auto scale = static_cast<float>(p.scale());
  const Extent blocks{ceil_div(p.keys, kScoreKeys), ceil_div(p.queries, kQueries),
                      p.batch * p.heads};
  const ScoreProduct<In> dv{in<In>(d.p), pitch, in<In>(d.d_o), static_cast<In*>(d.dv), 1.0f};
  const ScoreProduct<In> dk{ds, pitch, in<In>(d.q), static_cast<In*>(d.dk_stored), scale};
  const ScoreProduct<In> dq{ds, pitch, in<In>(d.k), static_cast<In*>(d.dq_stored), scale};
  return launch_rows<In>(p, d, at) +
         launch(score_gradients_kernel<In, kDim>,
                shape_of(p, kBlock, blocks, (kQueries + kScoreKeys) * RowTile<kDim>::kPitch),
                heads_of(p), in<In>(d.v), in<In>(d.d_o), at.delta, in<In>(d.p), ds, pitch) +
         launch_score_product<kDim, true>(p, dv) + launch_score_product<kDim, true>(p, dk) +
         launch_score_product<kDim, false>(p, dq);
}

Variant stored() {
  Variant v = variant("stored", "", {});
  v.writes = {"dv", "dq_stored", "dk_stored"};
  v.deterministic = true;
  v.unsupported = [](const Problem& p, const DeviceSpec& device) -> std::optional<std::string> {
    if (const auto why = has_no_dropout(p)) return why;
    if (stored_weights(p) == 0) return "so many weights are not kept";
    return lacks_room_for_product(device);
  };
  works_in(v, matrix_bytes, matrix_bytes);
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& context) {
    return with_type_and_dim(p, [&](auto in, auto dim) {
      return launch_stored<decltype(in), dim()>(p, d, row_workspace(p, context.workspace));
    });
  };
  return v;
}

// ---- recompute_atomics: recomputed attention weights, atomic sums for dQ
//
// A block has 128 keys, 16 per warp, and iterates over the queries that attend to them, 64 at a
// time. It recomputes P instead of loading it, so five products replace four: without a mask
// tensor_instructions increases. No score and no gradient of a score is stored to DRAM:
// dram_read_bytes and metric.peak_bytes decrease. Blocks of different keys sum dQ in fp32 by atomic
// operations, in no fixed order, so dQ may differ bitwise between launches. These sums are
// cleared, accumulated and rounded, which costs DRAM bytes beyond the operands' and two kernels.

// With two stages, the next tile of queries is on its way while one is multiplied.
template <class In, int kDim, int kStages, bool kAddsQueries, bool kDrops>
__global__ void __launch_bounds__(kKeyThreads, 1)
    keys_kernel(Heads heads, GradientOperands<In> x, KeyGradients<In> to, float* dq_sums) {
  using Tile = RowTile<kDim>;
  using Warp = WarpAttention<In, kDim, 1, kTileQueries>;
  extern __shared__ __align__(16) char shared[];
  const KeyBlockTiles<kDim, kStages, kAddsQueries> tiles{shared};
  const AllowedKeys& allowed = heads.allowed;
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
    begin_rows<kDim, kTileQueries, kKeyThreads>(tiles.q(stage), x.x.q + at,
                                                allowed.queries - query);
    begin_rows<kDim, kTileQueries, kKeyThreads>(tiles.d_o(stage), x.d_o + at,
                                                allowed.queries - query);
    constexpr int kUnits = kTileQueries / 4;  // of 16 bytes
    if (threadIdx.x < 2 * kUnits) {
      const std::int64_t row = head * padded_rows(allowed.queries) + query;
      const int unit = threadIdx.x % kUnits * 4;
      const bool is_delta = threadIdx.x >= kUnits;
      cp_async<16>((is_delta ? tiles.delta(stage) : tiles.log_sum2(stage)) + unit,
                   (is_delta ? x.delta : x.log_sum2) + row + unit, true);
    }
    cp_async_commit();
  };
  begin_rows<kDim, kBlockKeys, kKeyThreads>(tiles.k(), x.x.k + first_key * kDim,
                                            allowed.keys - key);
  begin_rows<kDim, kBlockKeys, kKeyThreads>(tiles.v(), x.x.v + first_key * kDim,
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
      __syncthreads();  // all warps are done with the tiles before
      begin(step);
    }
    cp_async_wait<0>();
    __syncthreads();  // the tiles are there, and all warps are done with those before
    if (kStages > 1 && step + 1 < steps) begin(step + 1);
    const unsigned kept = kept_bits<kDrops, kTileQueries / 8>([&](int tile) {
      return kept_transposed(heads, heads.first_query(head_of(step)) + query + 8 * tile,
                             key + key_row);
    });
    typename Warp::Scores p, ds;
    Warp::multiply(p, k_own, tiles.q(stage));
    Warp::multiply(ds, v_own, tiles.d_o(stage));
    const float* const log_sum2 = tiles.log_sum2(stage);
    const float* const delta = tiles.delta(stage);
    exponentiate(p, heads.scale * kLog2E,
                 [&](int, int, int j, int c) { return log_sum2[column_of_sums(j, c)]; });
    if (!range.is_whole(allowed, query)) hide_transposed(p, allowed, key + key_row, query);
    differentiate<kDrops>(
        p, ds, heads, [&](int, int, int j, int c) { return delta[column_of_sums(j, c)]; }, kept);
    if (kAddsQueries) store_transposed<In>(ds, tiles.scores(), key_row);
    add_product<In, kDim, 1, kTileQueries>(dv, p, tiles.d_o(stage));
    add_product<In, kDim, 1, kTileQueries>(dk, ds, tiles.q(stage));
    if (kAddsQueries) {
      __syncthreads();  // dSᵀ of all warps is there
      TileGradient<In, kDim> dq;
      dq.multiply(tiles.scores(), tiles.k());
      dq.add_to(dq_sums + tile_of_sums(head_of(step), allowed.queries, query, kDim));
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

template <class In, int kDim, int kStages, bool kAddsQueries, bool kDrops>
Steps launch_keys(const Problem& p, const Data& d, const RowWorkspace& at) {
  const Extent blocks{ceil_div(p.keys, kBlockKeys), p.batch * p.key_heads(), 1};
  return launch(
      keys_kernel<In, kDim, kStages, kAddsQueries, kDrops>,
      shape_of(p, kKeyThreads, blocks, KeyBlockTiles<kDim, kStages, kAddsQueries>::kBytes),
      heads_of(p), gradient_operands<In>(d, at),
      KeyGradients<In>{static_cast<In*>(d.dk), static_cast<In*>(d.dv)},
      static_cast<float*>(at.own));
}

template <class In, int kDim, int kStages, bool kDrops>
Steps launch_atomics(const Problem& p, const Data& d, const RowWorkspace& at) {
  return launch_rows<In>(p, d, at) + Steps(MemsetStep{at.own, 0, sum_bytes(p)}) +
         launch_keys<In, kDim, kStages, true, kDrops>(p, d, at) +
         launch_round<In, kDim>(p, static_cast<const float*>(at.own), static_cast<In*>(d.dq));
}

// Where scores are far more than L2 holds, blocks more than there are SMs, and a block goes through
// many tiles.
bool is_large(const Problem& p) {
  constexpr std::int64_t kManyScores = std::int64_t{1} << 27, kManyRows = 32768, kManyKeys = 1024;
  return p.rows() * p.keys >= kManyScores && p.rows() >= kManyRows &&
         p.batch * p.key_heads() * p.keys >= kManyRows &&
         visible_pairs(p) >= kManyKeys * std::max(p.queries, p.keys);
}

std::optional<std::string> lacks_room(const Problem& p, const DeviceSpec& device, int stages) {
  return with_type_and_dim(p, [&](auto, auto dim) {
    return lacks_shared_memory(device, stages == 1 ? KeyBlockTiles<dim(), 1, true>::kBytes
                                                   : KeyBlockTiles<dim(), 2, true>::kBytes);
  });
}

Variant recompute_atomics() {
  Variant v = variant("recompute_atomics", "stored",
                      {{"dram_read_bytes", Direction::decreases, 4, is_large},
                       {"metric.peak_bytes", Direction::decreases, 1.5, is_large},
                       {"tensor_instructions", Direction::increases, 1.2,
                        [](const Problem& p) { return is_large(p) && p.mask == Mask::full; }}});
  v.unsupported = [](const Problem& p, const DeviceSpec& device) -> std::optional<std::string> {
    if (const auto why = has_no_dropout(p)) return why;
    return lacks_room(p, device, 1);
  };
  works_in(v, sum_bytes, no_bytes);
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& context) {
    return with_type_and_dim(p, [&](auto in, auto dim) {
      return launch_atomics<decltype(in), dim(), 1, false>(p, d,
                                                           row_workspace(p, context.workspace));
    });
  };
  return v;
}

// ---- tiles_ahead: copies while products run
//
// The next tile of queries is on its way by cp.async while one is multiplied, in a second place of
// shared memory: an SM has a single block, whose warps all wait where its copies are waited for.
// stalled_long_scoreboard falls, tensor_active_pct rises. Dropout is here, too: which weights it
// takes is found again by Philox, of the seed and each one's place, as in the forward pass.

Variant tiles_ahead() {
  Variant v = variant("tiles_ahead", "recompute_atomics",
                      {{"stalled_long_scoreboard", Direction::decreases, 1.3, is_large},
                       {"tensor_active_pct", Direction::increases, 1.05,
                        [](const Problem& p) { return is_large(p) && p.mask == Mask::full; }},
                       {"tensor_instructions", Direction::unchanged, 1.01, is_large}});
  v.unsupported = [](const Problem& p, const DeviceSpec& device) {
    return lacks_room(p, device, 2);
  };
  works_in(v, sum_bytes, no_bytes);
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& context) {
    return with_dropout(p, [&](auto in, auto dim, auto drops) {
      return launch_atomics<decltype(in), dim(), 2, drops()>(p, d,
                                                             row_workspace(p, context.workspace));
    });
  };
  return v;
}

// ---- two_pass: each gradient by those who have its rows
//
// A first kernel keeps dK and dV as before, and leaves dQ alone. A second one has 128 queries per
// block and goes through the keys that they see, as the forward pass does, with dQ in registers:
// nothing is added up in memory, and each sum has one order. It costs S and dP once more, seven
// products in place of five: tensor_instructions grow by two fifths. It relieves L2 of atomic
// operations.

constexpr int kGradientKeys = 32;

template <int kDim>
constexpr int kQueryBlockBytes = (2 * kQueries + 4 * kGradientKeys) * RowTile<kDim>::kPitch;

template <class In, int kDim, bool kDrops>
__global__ void __launch_bounds__(kBlock, 2)
    queries_kernel(Heads heads, GradientOperands<In> x, In* to) {
  using Tile = RowTile<kDim>;
  constexpr int kRowTiles = kQueries / (16 * kWarps);
  using Warp = WarpAttention<In, kDim, kRowTiles, kGradientKeys>;
  constexpr int kTileBytes = kGradientKeys * Tile::kPitch;
  extern __shared__ __align__(16) char shared[];
  char* const d_o_tile = shared + kQueries * Tile::kPitch;
  char* const key_tiles = d_o_tile + kQueries * Tile::kPitch;
  const AllowedKeys& allowed = heads.allowed;
  const int warp_row = threadIdx.x / 32 * Warp::kRows;
  char* const q_own = shared + warp_row * Tile::kPitch;
  char* const d_o_own = d_o_tile + warp_row * Tile::kPitch;
  const std::int64_t head = blockIdx.y;
  // The last queries see the most keys: their blocks start first.
  const int query = static_cast<int>(gridDim.x - 1 - blockIdx.x) * kQueries;
  const std::int64_t row = heads.first_query(head) + query;
  const TileRange<kGradientKeys> range(allowed, query, true);
  const auto begin = [&](int tile) {
    const std::int64_t at = (heads.first_key(head) + tile * kGradientKeys) * kDim;
    const int left = allowed.keys - tile * kGradientKeys;
    char* const to_tile = key_tiles + tile % 2 * 2 * kTileBytes;
    begin_rows<kDim, kGradientKeys>(to_tile, x.x.k + at, left);
    begin_rows<kDim, kGradientKeys>(to_tile + kTileBytes, x.x.v + at, left);
    cp_async_commit();
  };
  begin_rows<kDim, kQueries>(shared, x.x.q + row * kDim, allowed.queries - query);
  begin_rows<kDim, kQueries>(d_o_tile, x.d_o + row * kDim, allowed.queries - query);
  cp_async_commit();
  if (range.first < range.end) begin(range.end - 1);
  float log_sum2[kRowTiles][2], delta[kRowTiles][2];
#pragma unroll
  for (int i = 0; i < kRowTiles; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at = query + warp_row + row_of_sums(i, half);
      const bool is_there = at < allowed.queries;
      const std::int64_t from = head * padded_rows(allowed.queries) + (is_there ? at : 0);
      log_sum2[i][half] = is_there ? x.log_sum2[from] : INFINITY;
      delta[i][half] = x.delta[from];
    }
  }
  MmaSums<float> dq[kRowTiles][kDim / 8] = {};
#pragma unroll 1
  for (int tile = range.end - 1; tile >= range.first; --tile) {
    cp_async_wait<0>();
    __syncthreads();  // the tiles are there, and all warps are done with those before
    if (tile > range.first) begin(tile - 1);
    const char* const k_tile = key_tiles + tile % 2 * 2 * kTileBytes;
    const int key = tile * kGradientKeys;
    constexpr int kColumnTiles = kGradientKeys / 8;
    const unsigned kept = kept_bits<kDrops, kRowTiles * kColumnTiles>([&](int of_lane) {
      return kept_elements(heads, row + warp_row + of_lane / kColumnTiles * 16,
                           key + of_lane % kColumnTiles * 8);
    });
    typename Warp::Scores p, ds;
    Warp::multiply(p, q_own, k_tile);
    Warp::multiply(ds, d_o_own, k_tile + kTileBytes);
    if (!range.is_whole(tile))
      Warp::hide(p, allowed, key, [&](int i) { return query + warp_row + i; });
    exponentiate(p, heads.scale * kLog2E,
                 [&](int i, int half, int, int) { return log_sum2[i][half]; });
    differentiate<kDrops>(
        p, ds, heads, [&](int i, int half, int, int) { return delta[i][half]; }, kept);
    add_product<In, kDim, kRowTiles, kGradientKeys>(dq, ds, k_tile);
  }
  cp_async_wait<0>();
  __syncthreads();
  store_sums<kDim, kRowTiles>(dq, q_own, to + (row + warp_row) * kDim,
                              allowed.queries - query - warp_row,
                              [&](int, int) { return heads.scale; });
}

template <class In, int kDim, bool kDrops>
Steps launch_two_passes(const Problem& p, const Data& d, void* workspace) {
  const RowWorkspace at = row_workspace(p, workspace);
  return launch_rows<In>(p, d, at) + launch_keys<In, kDim, 2, false, kDrops>(p, d, at) +
         launch(queries_kernel<In, kDim, kDrops>,
                shape_of(p, kBlock, {ceil_div(p.queries, kQueries), p.batch * p.heads, 1},
                         kQueryBlockBytes<kDim>),
                heads_of(p), gradient_operands<In>(d, at), static_cast<In*>(d.dq));
}

// As a step of training asks for it (kernels/common/attention_steps.cuh).
Steps gradients_in_two_passes(const Problem& p, const Data& d, void* workspace) {
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
    return lacks_room(p, device, 2);
  };
  works_in(v, no_bytes, no_bytes);
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& context) {
    return with_dropout(p, [&](auto in, auto dim, auto drops) {
      return launch_two_passes<decltype(in), dim(), drops()>(p, d, context.workspace);
    });
  };
  return v;
}

// ---- cudnn: what a library makes of it
//
// On Hopper tensor cores are asked by wgmma, whose operands stay in shared memory, and whose four
// warps share what mma.sync brings to the registers of each. dQ is added up in whatever order.

Variant cudnn_backward() {
  Variant v = variant("cudnn", "", {});
  v.is_vendor = true;
  v.unavailable = cudnn::unavailable;
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (const auto why = lacks_mask_in_library(p)) return why;
    if (p.queries == 1 && p.keys == 1) return "cuDNN has no engine for one query and one key";
    return has_no_dropout(p);
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return cudnn::step_of(
        cudnn::AttentionBackward{library_attention(p, d), d.d_o, d.dq, d.dk, d.dv});
  };
  return v;
}

// ---- declaration

Family declare() {
  Family f("attention_backward", Topic::patterns,
           "What is it worth to keep attention's weights for the backward pass?");
  f.physics =
      "The gradients of attention take four products with its weights P, and five where P is found "
      "again from Q, K and one number per row. P in memory is read twice, and a gradient as large "
      "is written and read twice, at DRAM's rate; found again, tile by tile, neither leaves its "
      "SM, and tensor cores are the limit. dK and dV are summed over queries and dQ over keys: a "
      "block that has the former in registers adds its part of the latter up in memory, by atomic "
      "operations whose order is not fixed, or a second kernel finds the weights once more.";
  declare_parameters(f, {4, 1, 8192, 8192});
  const auto query_elements = [](const Problem& p) { return p.query_elements(); };
  const auto key_elements = [](const Problem& p) { return p.key_elements(); };
  const auto within = [](Gradient of, bool is_stored) {
    return [=](const Problem& p) { return gradient_tolerance(p, of, is_stored); };
  };
  f.input("q", &Data::q, &Problem::dtype, query_elements)
      .input("k", &Data::k, &Problem::dtype, key_elements)
      .input("v", &Data::v, &Problem::dtype, key_elements)
      .input("o", &Data::o, &Problem::dtype, query_elements)
      .input("log_sum", &Data::log_sum, [](const Problem& p) { return p.rows(); })
      .input("p", &Data::p, &Problem::dtype, stored_weights)
      .input("d_o", &Data::d_o, &Problem::dtype, query_elements)
      .output("dq", &Data::dq, &Problem::dtype, query_elements, within(Gradient::of_q, false))
      .output("dk", &Data::dk, &Problem::dtype, key_elements, within(Gradient::of_k, false))
      .output("dv", &Data::dv, &Problem::dtype, key_elements, within(Gradient::of_v, false))
      .output("dq_stored", &Data::dq_stored, &Problem::dtype, query_elements,
              within(Gradient::of_q, true))
      .output("dk_stored", &Data::dk_stored, &Problem::dtype, key_elements,
              within(Gradient::of_k, true));
  f.metric("peak_bytes", "B",
           "device memory: operands, gradients, weights that are kept, and what a launch works in");
  f.outputs = [](const Problem& p) { return Extent{p.queries, p.batch * p.heads, 1}; };
  f.unsupported = [](const Problem& p, const DeviceSpec&) { return unsupported(p); };
  f.inputs = inputs;
  f.reference = reference;
  f.reference_operations = gradient_operations;
  f.tolerance_derivation = kGradientDerivation;
  f.figure("attention_backward", "rates", "Attention's gradients",
           {{"param.keys", "keys"}, {"param.mask", "mask"}});
  f.variants(stored(), recompute_atomics(), tiles_ahead(), two_pass(), cudnn_backward());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::attention_backward
