// attention: O = softmax(Q·Kᵀ)·V, head by head.
//
// The question: what does it cost to keep the scores? There is one for each pair of a query and a
// key: at 8192 of both and 16 heads 2 GiB of 16-bit numbers, which go to DRAM and back between the
// two products, for masks and dropout once more each. But softmax can be had online (see softmax):
// a block that holds some queries goes through the keys tile by tile, keeps each row's maximum, sum
// and unfinished output in registers, and no score ever leaves its SM (Dao, Fu, Ermon, Rudra, Ré,
// "FlashAttention", 2022). Then time is that of two products on tensor cores, and of what stands
// between them: exponentials, maxima, masks.
#include <algorithm>
#include <cmath>

#include "kernels/common/attention_family.cuh"
#include "kernels/common/attention_passes.cuh"
#include "kernels/common/attention_steps.cuh"
#include "kernels/common/attention_tile.cuh"
#include "kernels/common/gemm.cuh"
#include "kernels/common/mma_pipeline.cuh"

namespace gpuexp::attention {

// ---- materialized: the score matrix in memory, one kernel per operation
//
// Each operation is a kernel, as in a framework without a fused kernel. One product stores the
// scores S = Q·Kᵀ, softmax loads and stores them in place, and a second product loads them. A mask
// adds one load and one store of S, dropout another of each. If S exceeds L2, dram_read_bytes and
// dram_write_bytes are these loads and stores, two of each without a mask. They grow with queries
// times keys, and both products wait for them.

constexpr int kScoreKeys = 64;

template <class In, int kDim>
__global__ void __launch_bounds__(kBlock)
    scores_kernel(Heads heads, Operands<In> x, In* scores, std::int64_t pitch) {
  using Tile = RowTile<kDim>;
  using Warp = WarpAttention<In, kDim, kQueries / (16 * kWarps), kScoreKeys>;
  extern __shared__ __align__(16) char shared[];
  char* const q_tile = shared;
  char* const k_tile = shared + kQueries * Tile::kPitch;
  const std::int64_t head = blockIdx.z;
  const int query = blockIdx.y * kQueries;
  const int key = blockIdx.x * kScoreKeys;
  const int left = heads.allowed.queries - query;
  load_rows<kDim, kQueries>(q_tile, x.q + (heads.first_query(head) + query) * kDim, left);
  load_rows<kDim, kScoreKeys>(k_tile, x.k + (heads.first_key(head) + key) * kDim,
                              heads.allowed.keys - key);
  __syncthreads();
  const int row = threadIdx.x / 32 * Warp::kRows;
  char* const own = q_tile + row * Tile::kPitch;
  typename Warp::Scores s;
  Warp::multiply(s, own, k_tile);
  __syncwarp();
  Warp::store_scores(s, own, scores + (heads.first_query(head) + query + row) * pitch + key, pitch,
                     left - row, heads.allowed.keys - key, heads.scale);
}

using OutputTiling = Pipeline<Tiling<128, 128, 64, 64, 64>, 4>;

template <class In>
__global__ void __launch_bounds__(OutputTiling::kThreads, 1)
    output_kernel(Heads heads, const In* weights, std::int64_t pitch, const In* v, In* o, int dim) {
  extern __shared__ __align__(128) char shared[];
  const int queries = heads.allowed.queries;
  const std::int64_t head = blockIdx.y;
  const Matrix<const In> p{weights + heads.first_query(head) * pitch, queries, pitch};
  const Matrix<const In> v_matrix{v + heads.first_key(head) * dim, heads.allowed.keys, dim};
  const Corner corner{static_cast<std::int64_t>(blockIdx.x) * OutputTiling::kBlockM, 0};
  mma_pipeline<In, float, OutputTiling, 16>(
      shared, p.window(corner.row, 0), v_matrix.window(0, 0), static_cast<int>(pitch), corner,
      [&](const float* slab, const Corner& at) {
        store_slab<OutputTiling::kWarpN>(
            slab, Matrix<In>{o + heads.first_query(head) * dim, queries, dim}, at);
      });
}

// ---- how the variants are launched

// Rows of S begin at multiples of 16 bytes.
std::int64_t score_pitch(const Problem& p) {
  return ceil_div(p.keys, kPassWidth) * kPassWidth;
}

std::int64_t score_bytes(const Problem& p) {
  return p.rows() * score_pitch(p) * element_bytes(p);
}

template <class In, int kDim>
Steps launch_materialized(const Problem& p, const Data& d, void* workspace) {
  const Heads heads = heads_of(p);
  const std::int64_t pitch = score_pitch(p);
  const auto x = operands<In>(d);
  In* const scores = static_cast<In*>(workspace);
  Shape product;
  product.block = {kBlock, 1, 1};
  product.tile = {kScoreKeys, kQueries, 1};
  product.grid = {ceil_div(p.keys, kScoreKeys), ceil_div(p.queries, kQueries), heads.heads};
  product.dynamic_shared_bytes = (kQueries + kScoreKeys) * RowTile<kDim>::kPitch;
  Shape pass;
  pass.block = {kPassBlock, 1, 1};
  pass.tile = {kPassBlock * kPassWidth, 1, 1};
  pass.grid = {ceil_div(p.rows() * pitch, kPassBlock * kPassWidth), 1, 1};
  Shape output;
  output.block = {OutputTiling::kThreads, 1, 1};
  output.tile = {OutputTiling::kBlockM, 1, 1};
  output.grid = {ceil_div(p.queries, OutputTiling::kBlockM), heads.heads, 1};
  output.dynamic_shared_bytes = OutputTiling::kSharedBytes;
  Steps steps = launch(scores_kernel<In, kDim>, product, heads, x, scores, pitch);
  if (p.mask != Mask::full) steps += launch(mask_kernel<In>, pass, heads, scores, p.rows(), pitch);
  steps += launch(softmax_kernel<In>, BlockRow::shape(p.rows(), p.keys, kPassBlock), scores, pitch);
  if (p.dropout > 0) steps += launch(dropout_kernel<In>, pass, heads, scores, p.rows(), pitch);
  return steps + launch(output_kernel<In>, output, heads, scores, pitch, x.v,
                        static_cast<In*>(d.o_stored), kDim);
}

Variant materialized() {
  Variant v = variant("materialized", "", {});
  v.writes = {"o_stored"};
  v.workspace_bytes = [](const Problem& p, const DeviceSpec&) { return score_bytes(p); };
  v.metrics = [](const Problem& p, const DeviceSpec&) { return memory_of(p, score_bytes(p)); };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& context) {
    return with_type_and_dim(p, [&](auto in, auto dim) {
      return launch_materialized<decltype(in), dim()>(p, d, context.workspace);
    });
  };
  return v;
}

// ---- scalar_tile: online softmax with scalar multiply-adds
//
// A block holds 32 queries, four lanes each, and iterates over the keys in shared tiles of 32. Each
// row's maximum, sum and output stay in registers, and no score is stored. If the scores exceed L2,
// dram_read_bytes decreases. The cost is arithmetic: four lanes execute the 2·head_dim
// multiply-adds of a query and a key one by one. A tensor core instruction of a warp has 2048, so
// materialized is faster on an H200.

constexpr int kLanesPerQuery = 4;
constexpr int kScalarQueries = kBlock / kLanesPerQuery;
constexpr int kScalarKeys = 32;
constexpr int kScalarStep = 8;  // keys whose scores a lane holds at a time

template <class In, int kDim>
__global__ void __launch_bounds__(kBlock)
    scalar_tile_kernel(Heads heads, Operands<In> x, In* o, float* log_sum) {
  constexpr int kParts = kDim / (4 * kLanesPerQuery);  // of 4 floats, in turn with other lanes
  __shared__ float4 k_tile[kScalarKeys][kDim / 4];
  __shared__ float4 v_tile[kScalarKeys][kDim / 4];
  const std::int64_t head = blockIdx.y;
  const int lane = threadIdx.x % kLanesPerQuery;
  const int query = blockIdx.x * kScalarQueries + threadIdx.x / kLanesPerQuery;
  const bool is_there = query < heads.allowed.queries;
  const std::int64_t row = heads.first_query(head) + (is_there ? query : 0);
  const float scale_log2 = heads.scale * kLog2E;
  float4 q[kParts], sums[kParts];
#pragma unroll
  for (int i = 0; i < kParts; ++i) {
    float part[4];
    load_floats(x.q + row * kDim + 4 * (lane + i * kLanesPerQuery), part);
    q[i] = make_float4(part[0], part[1], part[2], part[3]);
    sums[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }
  const int first = is_there ? heads.allowed.first(query) : 0;
  const int end = is_there ? heads.allowed.end(query) : 0;
  float max = -INFINITY, sum = 0.0f;
#pragma unroll 1
  for (int key = 0; key < heads.allowed.keys; key += kScalarKeys) {
    __syncthreads();
    for (int i = threadIdx.x; i < kScalarKeys * kDim / 4; i += kBlock) {
      const int tile_row = i / (kDim / 4);
      const std::int64_t from =
          (heads.first_key(head) + min(key + tile_row, heads.allowed.keys - 1)) * kDim +
          4 * (i % (kDim / 4));
      float k_part[4], v_part[4];
      load_floats(x.k + from, k_part);
      load_floats(x.v + from, v_part);
      k_tile[tile_row][i % (kDim / 4)] = make_float4(k_part[0], k_part[1], k_part[2], k_part[3]);
      v_tile[tile_row][i % (kDim / 4)] = make_float4(v_part[0], v_part[1], v_part[2], v_part[3]);
    }
    __syncthreads();
#pragma unroll 1
    for (int step = 0; step < kScalarKeys; step += kScalarStep) {
      float s[kScalarStep];
      float largest = max;
#pragma unroll
      for (int j = 0; j < kScalarStep; ++j) {
        float dot = 0.0f;
#pragma unroll
        for (int i = 0; i < kParts; ++i) {
          const float4 k = k_tile[step + j][lane + i * kLanesPerQuery];
          dot = fmaf(q[i].x, k.x, fmaf(q[i].y, k.y, fmaf(q[i].z, k.z, fmaf(q[i].w, k.w, dot))));
        }
        const int at = key + step + j;
        s[j] = of_lanes<kLanesPerQuery>(dot, Sum()) * scale_log2;
        if (at < first || at >= end) s[j] = -INFINITY;
        largest = fmaxf(largest, s[j]);
      }
      if (largest == -INFINITY) continue;
      const float factor = fast_exp2(max - largest);
      max = largest;
      sum *= factor;
#pragma unroll
      for (int i = 0; i < kParts; ++i)
        sums[i] = make_float4(sums[i].x * factor, sums[i].y * factor, sums[i].z * factor,
                              sums[i].w * factor);
#pragma unroll
      for (int j = 0; j < kScalarStep; ++j) {
        const float weight = fast_exp2(s[j] - max);
        sum += weight;
#pragma unroll
        for (int i = 0; i < kParts; ++i) {
          const float4 v = v_tile[step + j][lane + i * kLanesPerQuery];
          sums[i] = make_float4(fmaf(weight, v.x, sums[i].x), fmaf(weight, v.y, sums[i].y),
                                fmaf(weight, v.z, sums[i].z), fmaf(weight, v.w, sums[i].w));
        }
      }
    }
  }
  if (!is_there) return;
  const float factor = sum > 0.0f ? 1.0f / sum : 0.0f;
#pragma unroll
  for (int i = 0; i < kParts; ++i) {
    const float part[4] = {sums[i].x * factor, sums[i].y * factor, sums[i].z * factor,
                           sums[i].w * factor};
    store_floats(o + row * kDim + 4 * (lane + i * kLanesPerQuery), part);
  }
  if (lane == 0) log_sum[row] = sum > 0.0f ? (max + log2f(sum)) * kLn2 : -INFINITY;
}

// A launch of a fused kernel: `blocks` blocks for each head, which take `queries` queries at a
// time.
template <class Kernel, class... Arguments>
Steps launch_fused(const Problem& p, const Data& d, Kernel kernel, std::int64_t shared,
                   std::int64_t blocks, Arguments... arguments) {
  return with_type_and_dim(p, [&](auto in, auto dim) {
    using In = decltype(in);
    const Shape s = shape_of_blocks({blocks, p.batch * p.heads}, {kBlock},
                                    {ceil_div(p.queries, blocks)}, shared);
    return launch(kernel(in, dim), s, heads_of(p), operands<In>(d), static_cast<In*>(d.o),
                  d.log_sum, arguments...);
  });
}

// Where blocks have several tiles of queries and of keys.
bool is_large(const Problem& p) {
  constexpr std::int64_t kManyScores = std::int64_t{1} << 25, kManyRows = 8192;
  return p.rows() * p.keys >= kManyScores && p.rows() >= kManyRows && p.queries >= kQueries;
}
// Where most of a block's time is in its loop: windows are short.
bool has_many_tiles(const Problem& p) {
  return is_large(p) && p.mask != Mask::window;
}
// Where scores are more than any L2 holds.
bool exceeds_l2(const Problem& p) {
  constexpr std::int64_t kManyScores = std::int64_t{1} << 27;
  return is_large(p) && p.rows() * p.keys >= kManyScores;
}

Variant scalar_tile() {
  Variant v = variant("scalar_tile", "materialized",
                      {{"dram_read_bytes", Direction::decreases, 4, exceeds_l2}});
  v.unsupported = has_no_dropout;
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch_fused(
        p, d,
        [](auto in, auto dim) { return scalar_tile_kernel<decltype(in), decltype(dim)::value>; }, 0,
        ceil_div(p.queries, kScalarQueries));
  };
  return v;
}

// ---- online_tiles: the same on tensor cores
//
// Four warps of a block hold 32 queries each, and multiply them by tiles of keys from shared memory
// with mma.sync. Scores stay where the instruction leaves them, in registers, which are where the
// second product takes its left operand: P goes from one to the other rounded to 16 bits.
// fma_instructions fall. A block has one head, tile by tile of its queries, so that with few heads
// SMs are idle; each tile of keys is multiplied, seen or not, and each score compared with its
// mask.

// Which tiles of keys are skipped, and which have their scores compared with the mask.
struct Effort {
  bool skips_hidden;
  bool masks_all;
};

template <class In, int kDim>
__global__ void __launch_bounds__(kBlock, 2)
    tiles_kernel(Heads heads, Operands<In> x, In* o, float* log_sum, Effort effort) {
  using Tile = RowTile<kDim>;
  using Warp = TileWarp<In, kDim>;
  constexpr int kKeys = kTileKeys<kDim>;
  extern __shared__ __align__(16) char shared[];
  char* const k_tile = shared + kQueries * Tile::kPitch;
  char* const v_tile = k_tile + kKeys * Tile::kPitch;
  const int warp_row = threadIdx.x / 32 * Warp::kRows;
  char* const own = shared + warp_row * Tile::kPitch;
  const std::int64_t head = blockIdx.y;
  const In* const k = x.k + heads.first_key(head) * kDim;
  const In* const v = x.v + heads.first_key(head) * kDim;
  const AllowedKeys& allowed = heads.allowed;
#pragma unroll 1
  for (int query = blockIdx.x * kQueries; query < allowed.queries; query += gridDim.x * kQueries) {
    const int left = allowed.queries - query;
    const std::int64_t row = heads.first_query(head) + query;
    const TileRange<kKeys> range(allowed, query, effort.skips_hidden);
    load_rows<kDim, kQueries>(shared, x.q + row * kDim, left);
    Warp warp;
#pragma unroll 1
    for (int tile = range.end - 1; tile >= range.first; --tile) {
      const int key = tile * kKeys;
      __syncthreads();  // all warps are done with the tiles before
      load_rows<kDim, kKeys>(k_tile, k + key * kDim, allowed.keys - key);
      load_rows<kDim, kKeys>(v_tile, v + key * kDim, allowed.keys - key);
      __syncthreads();
      typename Warp::Scores s;
      Warp::multiply(s, own, k_tile);
      if (effort.masks_all || !range.is_whole(tile))
        Warp::hide(s, allowed, key, [&](int i) { return query + warp_row + i; });
      warp.soften(s, heads.scale * kLog2E, 0.0f);
      warp.add(s, v_tile);
    }
    __syncthreads();
    warp.store(own, o + (row + warp_row) * kDim, log_sum + row + warp_row, left - warp_row, 1.0f);
    __syncthreads();  // O is stored, by way of the tile that the next queries go to
  }
}

Variant tiles(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected,
              bool splits_queries, Effort effort) {
  Variant v = variant(std::move(id), std::move(compare_to), std::move(expected));
  v.unsupported = has_no_dropout;
  v.launch = [=](const Problem& p, const Data& d, const LaunchContext&) {
    const std::int64_t blocks = splits_queries ? ceil_div(p.queries, kQueries) : 1;
    return launch_fused(
        p, d, [](auto in, auto dim) { return tiles_kernel<decltype(in), decltype(dim)::value>; },
        tile_bytes(p), blocks, effort);
  };
  return v;
}

Variant online_tiles() {
  return tiles("online_tiles", "scalar_tile",
               {{"fma_instructions", Direction::decreases, 4, is_large},
                {"tensor_active_pct", Direction::increases, 10, is_large}},
               false, {false, true});
}

// ---- split_queries: a block per tile of queries
//
// Rows of O do not depend on each other: each tile of queries is a block's own, and one head keeps
// as many SMs busy as it has tiles. sm_balance_pct rises where heads are fewer than the blocks
// that fit on all SMs. Keys and values come from L2 once for each of the blocks.

bool has_few_heads(const Problem& p) {
  constexpr std::int64_t kFewHeads = 32, kManyTiles = 256;
  return p.batch * p.heads <= kFewHeads &&
         p.batch * p.heads * ceil_div(p.queries, kQueries) >= kManyTiles;
}

Variant split_queries() {
  return tiles("split_queries", "online_tiles",
               {{"sm_balance_pct", Direction::increases, 2, has_few_heads}}, true, {false, true});
}

// ---- skip_hidden: no work on tiles that no query sees
//
// Tiles behind the diagonal of causal attention, and before a sliding window, have weights that are
// all zero. A block goes through those tiles alone of which one of its queries sees a key.
// tensor_instructions falls by what is skipped: of causal attention to nearly half. Blocks then
// differ in their work: those of the last queries have the most, and begin first.

bool hides_half(const Problem& p) {
  const std::int64_t all = p.queries * p.keys;
  return is_large(p) && p.keys >= 4096 && 5 * visible_pairs(p) <= 3 * all;
}

Variant skip_hidden() {
  return tiles("skip_hidden", "split_queries",
               {{"tensor_instructions", Direction::decreases, 1.6, hides_half}}, true,
               {true, true});
}

// ---- mask_edges: masks where they hide something
//
// Within most tiles each query sees each key. Scores are compared with the mask in tiles alone that
// the diagonal crosses, a window's other edge, or the end of the keys: alu_instructions fall, which
// share their issue slots with the products.

Variant mask_edges() {
  return tiles("mask_edges", "skip_hidden",
               {{"alu_instructions", Direction::decreases, 1.3, is_large},
                {"tensor_instructions", Direction::unchanged, 1.01, is_large}},
               true, {true, false});
}

// ---- async_tiles: copies while products run
//
// cp.async brings a tile of values while scores are multiplied, and the next tile of keys while
// they become weights; no register holds what is under way. The warps wait for memory no more:
// stalled_long_scoreboard falls. Dropout is here, too: its bits are made of each element's place.

template <class In, int kDim, bool kDrops>
__global__ void __launch_bounds__(kBlock, 2)
    async_tiles_kernel(Heads heads, Operands<In> x, In* o, float* log_sum, float slack) {
  using Tile = RowTile<kDim>;
  // Random bits take registers: half as many scores leave room for them.
  constexpr int kKeys = kTileKeys<kDim> / (kDrops ? 2 : 1);
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
  const AllowedKeys& allowed = heads.allowed;
  // The last queries see the most keys: their blocks start first.
  const int query = static_cast<int>(gridDim.x - 1 - blockIdx.x) * kQueries;
  const int left = allowed.queries - query;
  const std::int64_t row = heads.first_query(head) + query;
  const TileRange<kKeys> range(allowed, query, true);
  const auto begin = [&](char* tile, const In* from, int index) {
    begin_rows<kDim, kKeys>(tile, from + index * kKeys * kDim, allowed.keys - index * kKeys);
    cp_async_commit();
  };
  begin_rows<kDim, kQueries>(shared, x.q + row * kDim, left);
  cp_async_commit();
  if (range.first < range.end) begin(k_tile, k, range.end - 1);
  Warp warp;
#pragma unroll 1
  for (int tile = range.end - 1; tile >= range.first; --tile) {
    cp_async_wait<0>();
    __syncthreads();  // keys are there, and all warps are done with the values before
    begin(v_tile, v, tile);
    typename Warp::Scores s;
    Warp::multiply(s, own, k_tile);
    cp_async_wait<0>();
    __syncthreads();  // values are there, and all warps are done with the keys
    if (tile > range.first) begin(k_tile, k, tile - 1);
    if (!range.is_whole(tile))
      Warp::hide(s, allowed, tile * kKeys, [&](int i) { return query + warp_row + i; });
    warp.soften(s, heads.scale * kLog2E, slack);
    if (kDrops) Warp::drop(s, heads, row + warp_row, tile * kKeys);
    warp.add(s, v_tile);
  }
  cp_async_wait<0>();
  __syncthreads();
  warp.store(own, o + (row + warp_row) * kDim, log_sum + row + warp_row, left - warp_row,
             kDrops ? 1.0f / (1.0f - heads.dropout) : 1.0f);
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
// their precision in 16 bits and in fp32, and normalization cancels the common factor. The branch
// is warp-uniform, so lanes do not diverge.

constexpr float kSlack = 8.0f;

Variant lazy_rescale() {
  return async("lazy_rescale", "async_tiles",
               {{"fma_instructions", Direction::decreases, 1.02, is_large}}, kSlack);
}

// As a step of training asks for it (kernels/common/attention_steps.cuh).
Steps forward_by_tiles(const Problem& p, const Data& d) {
  if (p.dtype != DataType::fp32)
    return launch_fused(
        p, d,
        [](auto in, auto dim) {
          return async_tiles_kernel<decltype(in), decltype(dim)::value, false>;
        },
        tile_bytes(p), ceil_div(p.queries, kQueries), kSlack);
  const Shape s = shape_of_tiles({p.queries, p.batch * p.heads}, {kScalarQueries}, kBlock);
  return launch(scalar_tile_kernel<float, kFp32Dim>, s, heads_of(p), operands<float>(d),
                static_cast<float*>(d.o), d.log_sum);
}

// ---- cudnn: what a library makes of it
//
// On Hopper tensor cores are asked by wgmma, whose operands stay in shared memory and whose
// products go on while a warpgroup finds exponentials: it has a rate that mma.sync does not reach.

Variant cudnn_attention() {
  return cudnn_variant();
}

// ---- declaration

Family declare() {
  Family f("attention", Topic::patterns, "What does it cost to keep the scores of attention?");
  f.physics =
      "Attention takes two products with a softmax between them, whose operand, a score for each "
      "query and key, is far larger than what goes in and comes out. Kept in memory it is written "
      "and read once per operation, at DRAM's rate. A block that finds the softmax online keeps a "
      "tile of it in registers, and DRAM has queries, keys, values and outputs left to move: then "
      "tensor cores are the limit, and what their warps do beside them, which is mostly an "
      "exponential for each score.";
  declare_attention(f, {2, 1, 16384, 16384});
  f.figure("attention", "rates", "Attention: what each variant adds",
           {{"param.keys", "keys"}, {"param.mask", "mask"}});
  f.variants(materialized(), scalar_tile(), online_tiles(), split_queries(), skip_hidden(),
             mask_edges(), async_tiles(), lazy_rescale(), cudnn_attention());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::attention
