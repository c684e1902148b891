// attention: O = softmax(Q·Kᵀ)·V, head by head.
//
// The question: what does it cost to store the scores? 8192 queries, 8192 keys and 16 heads have 2
// GiB of 16-bit scores. With an online softmax (see softmax), a block iterates over tiles of keys
// and keeps each query's maximum, sum and unnormalized output in registers, so no score leaves the
// SM (Dao, Fu, Ermon, Rudra, Ré, "FlashAttention", 2022).
#include <algorithm>
#include <cmath>

#include "kernels/attention/fused_launch.cuh"
#include "kernels/common/attention_passes.cuh"
#include "kernels/common/attention_steps.cuh"
#include "kernels/common/attention_tile.cuh"
#include "kernels/common/gemm.cuh"
#include "kernels/common/mma_pipeline.cuh"

namespace gpuexp::attention {

// ---- materialized: the score matrix in memory, one kernel per operation
//
// Each operation is a kernel. One product stores the scores S = Q·Kᵀ, softmax loads and stores S in
// place, and a second product loads S. A mask adds one load and one store of S, and dropout another
// load and store. If S exceeds L2, dram_read_bytes and dram_write_bytes are these loads and stores,
// two of each without a mask and dropout. They grow with queries times keys.

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

// Elements per row of S; each row starts at a multiple of 16 bytes.
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
// query's maximum, sum and output stay in registers, and no score is stored. If the scores exceed
// L2, dram_read_bytes decreases. The cost is arithmetic: four lanes execute the 2·head_dim
// multiply-adds of a query and a key one by one. One tensor core instruction of a warp performs
// 2048 multiply-adds, so materialized is faster on an H200.

constexpr int kLanesPerQuery = 4;
constexpr int kScalarQueries = kBlock / kLanesPerQuery;
constexpr int kScalarKeys = 32;
constexpr int kScalarStep = 8;  // scores that a lane holds at a time, one per key

template <class In, int kDim>
__global__ void __launch_bounds__(kBlock)
    scalar_tile_kernel(Heads heads, Operands<In> x, In* o, float* log_sum) {
  constexpr int kParts = kDim / (4 * kLanesPerQuery);  // vectors of 4 floats per lane, interleaved
  __shared__ float4 k_tile[kScalarKeys][kDim / 4];
  __shared__ float4 v_tile[kScalarKeys][kDim / 4];
  const std::int64_t head = blockIdx.y;
  const int lane = threadIdx.x % kLanesPerQuery;
  const int query = blockIdx.x * kScalarQueries + threadIdx.x / kLanesPerQuery;
  const bool in_bounds = query < heads.allowed.queries;
  const std::int64_t row = heads.first_query(head) + (in_bounds ? query : 0);
  const float scale_log2 = heads.scale * kLog2E;
  float4 q[kParts], sums[kParts];
#pragma unroll
  for (int i = 0; i < kParts; ++i) {
    float part[4];
    load_floats(x.q + row * kDim + 4 * (lane + i * kLanesPerQuery), part);
    q[i] = make_float4(part[0], part[1], part[2], part[3]);
    sums[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }
  const int first = in_bounds ? heads.allowed.first(query) : 0;
  const int end = in_bounds ? heads.allowed.end(query) : 0;
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
        s[j] = reduce_lanes<kLanesPerQuery>(dot, Sum()) * scale_log2;
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
  if (!in_bounds) return;
  const float factor = sum > 0.0f ? 1.0f / sum : 0.0f;
#pragma unroll
  for (int i = 0; i < kParts; ++i) {
    const float part[4] = {sums[i].x * factor, sums[i].y * factor, sums[i].z * factor,
                           sums[i].w * factor};
    store_floats(o + row * kDim + 4 * (lane + i * kLanesPerQuery), part);
  }
  if (lane == 0) log_sum[row] = sum > 0.0f ? (max + log2f(sum)) * kLn2 : -INFINITY;
}

// True if the scores, at least 256 MiB in 16 bits, exceed the L2 of any GPU.
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

// ---- online_tiles: online softmax on tensor cores
//
// Each of a block's four warps holds 32 queries and multiplies them by tiles of keys in shared
// memory with mma.sync. The scores stay in the instruction's result registers, from which the
// second product reads its left operand, rounded to 16 bits. fma_instructions decreases. A block
// processes all queries of one head, so SMs are idle if there are fewer heads than SMs. The block
// also multiplies fully masked tiles of keys, and compares each score with the mask.

// Whether a kernel skips fully masked tiles of keys, and whether it masks the scores of all other
// tiles or only of partially masked ones.
struct MaskedTiles {
  bool skips_masked;
  bool masks_all;
};

template <class In, int kDim>
__global__ void __launch_bounds__(kBlock, 2)
    tiles_kernel(Heads heads, Operands<In> x, In* o, float* log_sum, MaskedTiles masking) {
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
  const AttendedKeys& allowed = heads.allowed;
#pragma unroll 1
  for (int query = blockIdx.x * kQueries; query < allowed.queries; query += gridDim.x * kQueries) {
    const int left = allowed.queries - query;
    const std::int64_t row = heads.first_query(head) + query;
    const TileRange<kKeys> range(allowed, query, masking.skips_masked);
    load_rows<kDim, kQueries>(shared, x.q + row * kDim, left);
    Warp warp;
#pragma unroll 1
    for (int tile = range.end - 1; tile >= range.first; --tile) {
      const int key = tile * kKeys;
      __syncthreads();  // all warps have finished with the previous tiles
      load_rows<kDim, kKeys>(k_tile, k + key * kDim, allowed.keys - key);
      load_rows<kDim, kKeys>(v_tile, v + key * kDim, allowed.keys - key);
      __syncthreads();
      typename Warp::Scores s;
      Warp::multiply(s, own, k_tile);
      if (masking.masks_all || !range.is_whole(tile))
        Warp::apply_mask(s, allowed, key, [&](int i) { return query + warp_row + i; });
      warp.online_softmax(s, heads.scale * kLog2E, 0.0f);
      warp.add(s, v_tile);
    }
    __syncthreads();
    warp.store(own, o + (row + warp_row) * kDim, log_sum + row + warp_row, left - warp_row, 1.0f);
    __syncthreads();  // O is stored; it was staged in the tile that the next queries overwrite
  }
}

Variant tiles(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected,
              bool splits_queries, MaskedTiles masking) {
  Variant v = variant(std::move(id), std::move(compare_to), std::move(expected));
  v.unsupported = has_no_dropout;
  v.launch = [=](const Problem& p, const Data& d, const LaunchContext&) {
    const std::int64_t blocks = splits_queries ? ceil_div(p.queries, kQueries) : 1;
    return launch_fused(
        p, d, [](auto in, auto dim) { return tiles_kernel<decltype(in), decltype(dim)::value>; },
        tile_bytes(p), blocks, masking);
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
// The rows of O are independent, so each tile of queries gets its own block, and one head occupies
// as many SMs as it has tiles. sm_balance_pct increases if there are fewer heads than blocks that
// fit on all SMs. The cost is that each block of a head loads the head's keys and values from L2.

bool has_few_heads(const Problem& p) {
  constexpr std::int64_t kFewHeads = 32, kManyTiles = 256;
  return p.batch * p.heads <= kFewHeads &&
         p.batch * p.heads * ceil_div(p.queries, kQueries) >= kManyTiles;
}

Variant split_queries() {
  return tiles("split_queries", "online_tiles",
               {{"sm_balance_pct", Direction::increases, 2, has_few_heads}}, true, {false, true});
}

// ---- skip_hidden: no work on fully masked tiles
//
// In tiles beyond the diagonal of causal attention, and before a sliding window, all weights are
// zero. A block processes only the tiles in which at least one of its queries attends to a key.
// tensor_instructions falls by the skipped tiles: for causal attention to nearly half. The amount
// of work then differs between blocks: with a causal mask, the blocks of the last queries have the
// largest number of tiles.

bool masks_half(const Problem& p) {
  const std::int64_t all = p.queries * p.keys;
  return is_large(p) && p.keys >= 4096 && 5 * attended_pairs(p) <= 3 * all;
}

Variant skip_hidden() {
  return tiles("skip_hidden", "split_queries",
               {{"tensor_instructions", Direction::decreases, 1.6, masks_half}}, true,
               {true, true});
}

// ---- mask_edges: masks only in partially masked tiles
//
// In most tiles, each query attends to each key. The kernel compares scores with the mask only in
// tiles that contain the diagonal, a window's other edge, or the end of the keys. alu_instructions
// decreases, which leaves issue slots to the products.

Variant mask_edges() {
  return tiles("mask_edges", "skip_hidden",
               {{"alu_instructions", Direction::decreases, 1.3, is_large},
                {"tensor_instructions", Direction::unchanged, 1.01, is_large}},
               true, {true, false});
}

// Forward pass for a training step (kernels/common/attention_steps.cuh).
Steps launch_attention_forward(const Problem& p, const Data& d) {
  if (p.dtype != DataType::fp32) return launch_lazy_rescale(p, d);
  const Shape s = shape_of_tiles({p.queries, p.batch * p.heads}, {kScalarQueries}, kBlock);
  return launch(scalar_tile_kernel<float, kFp32HeadDim>, s, heads_of(p), operands<float>(d),
                static_cast<float*>(d.o), d.log_sum);
}

// ---- cudnn: the cuDNN baseline
//
// On Hopper, cuDNN issues wgmma. Its operands stay in shared memory, and the products continue
// while a warpgroup computes exponentials. wgmma reaches a rate that mma.sync does not reach.

Variant cudnn_attention() {
  return cudnn_variant();
}

// ---- declaration

Family declare() {
  Family f("attention", Topic::patterns, "What does it cost to store the attention scores?");
  f.physics =
      "Attention consists of two products with a softmax between them. The softmax's operand, a "
      "score per query and key, is far larger than the inputs and outputs. If the scores are "
      "stored, each operation writes and reads them at DRAM's rate. A block that computes the "
      "softmax online keeps a tile of scores in registers, so only queries, keys, values and "
      "outputs move through DRAM. The limit is then the tensor cores and the other instructions of "
      "their warps, mostly an exponential per score.";
  declare_attention(f, {2, 1, 16384, 16384});
  f.plot("attention", "rates", "Attention: throughput by variant",
         {{"param.keys", "keys"}, {"param.mask", "mask"}});
  f.variants(materialized(), scalar_tile(), online_tiles(), split_queries(), skip_hidden(),
             mask_edges(), async_tiles(), lazy_rescale(), cudnn_attention());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::attention
