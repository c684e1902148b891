// attention_decode: attention of the newest token of a sequence to all tokens before it.
//
// The question: what keeps a GPU busy if each head has one query? Each element of K and V is loaded
// once and used for one multiply-add per query that attends to it. In 16 bits that is one operation
// per byte and query, so DRAM is the limit. But a block per head leaves most SMs idle, and each of
// the others iterates over thousands of keys. The keys can be split over blocks: each block stores
// its partial row with its maximum and sum, and a second kernel combines them ("Flash-Decoding",
// Dao, Haziza, Massa, Sizov, 2023). Heads that share keys can load them once.
#include <algorithm>

#include "kernels/common/attention_family.cuh"
#include "kernels/common/attention_tile.cuh"

namespace gpuexp::attention_decode {

using namespace attention;
using attention::Family;
using attention::Variant;

constexpr int kMostRows = 16;  // of a block: those of one product

// What a block has: some heads of queries that share keys, all of their queries, and a part of the
// keys. `heads_of_block` is 1 or the problem's group.
struct Split {
  int heads_of_block;
  int splits;  // parts of the keys
  int tiles;   // of a part
};

// Unfinished rows of all parts, one part behind the other: O as it is summed so far, and each row's
// maximum and sum.
struct Partial {
  float* o;
  float2* max_sum;
};

// Keys of a tile, of which each warp has one of its own.
template <int kDim>
constexpr int kDecodeKeys = kDim == 64 ? 64 : 32;

template <int kDim>
constexpr int kDecodeBytes = (kMostRows + 2 * kWarps * kDecodeKeys<kDim>)*RowTile<kDim>::kPitch;

// O of a row and an element, put together of several parts, with the row's maximum and sum.
struct JoinedRow {
  float value = 0.0f;
  float max = -INFINITY;
  float sum = 0.0f;
  __device__ void add(float of_part, float2 max_sum) {
    if (max_sum.y == 0.0f) return;  // it saw no key
    const float larger = fmaxf(max, max_sum.x);
    const float own = fast_exp2(max - larger);
    const float other = fast_exp2(max_sum.x - larger);
    value = value * own + of_part * other;
    sum = sum * own + max_sum.y * other;
    max = larger;
  }
  __device__ float mean() const { return sum > 0.0f ? value / sum : 0.0f; }
  __device__ float log_sum() const { return sum > 0.0f ? (max + log2f(sum)) * kLn2 : -INFINITY; }
};

// ---- per_head: a block per head
//
// A head's query is one of 16 rows that a warp multiplies by a tile of keys: tensor cores have time
// for the other 15, since bytes are the limit. The four warps of a block take tiles in turn, each
// with shared memory of its own, where cp.async brings the next keys while values are added: they
// wait for each other at the end alone, when their rows are put together. There are as many blocks
// as heads: sm_balance_pct is low, and DRAM waits.

template <class In, int kDim>
__global__ void __launch_bounds__(kBlock, 3)
    decode_kernel(Heads heads, Operands<In> x, In* o, float* log_sum, Split split,
                  Partial partial) {
  using Tile = RowTile<kDim>;
  constexpr int kKeys = kDecodeKeys<kDim>;
  using Warp = WarpAttention<In, kDim, 1, kKeys>;
  extern __shared__ __align__(16) char shared[];
  const AllowedKeys& allowed = heads.allowed;
  const int rows = split.heads_of_block * allowed.queries;
  const std::int64_t head = static_cast<std::int64_t>(blockIdx.y) * split.heads_of_block;
  const int part = static_cast<int>(blockIdx.x);
  const std::int64_t first_row = heads.first_query(head);
  const In* const k = x.k + heads.first_key(head) * kDim;
  const In* const v = x.v + heads.first_key(head) * kDim;
  const int warp_index = threadIdx.x / 32;
  char* const k_tile = shared + (kMostRows + 2 * kKeys * warp_index) * Tile::kPitch;
  char* const v_tile = k_tile + kKeys * Tile::kPitch;
  const int first = part * split.tiles + warp_index;
  const int end = min((part + 1) * split.tiles, (allowed.keys + kKeys - 1) / kKeys);
  const auto begin = [&](char* tile, const In* from, int index) {
    if (index < end)
      begin_rows<kDim, kKeys, 32>(tile, from + index * kKeys * kDim, allowed.keys - index * kKeys);
    cp_async_commit();
  };
  begin_rows<kDim, kMostRows>(shared, x.q + first_row * kDim, rows);
  cp_async_commit();
  begin(k_tile, k, first);
  begin(v_tile, v, first);
  cp_async_wait<2>();
  __syncthreads();  // the queries of all threads are there
  Warp warp;
#pragma unroll 1
  for (int tile = first; tile < end; tile += kWarps) {
    typename Warp::Scores s;
    cp_async_wait<1>();
    __syncwarp();  // keys are there
    Warp::multiply(s, shared, k_tile);
    __syncwarp();
    begin(k_tile, k, tile + kWarps);
    Warp::hide(s, allowed, tile * kKeys, [&](int i) { return i % allowed.queries; });
    warp.soften(s, heads.scale * kLog2E, 8.0f);
    cp_async_wait<1>();
    __syncwarp();  // values are there
    warp.add(s, v_tile);
    __syncwarp();
    begin(v_tile, v, tile + kWarps);
  }
  cp_async_wait<0>();
  __syncthreads();

  // The warps' rows, where their tiles were.
  float* const sums = reinterpret_cast<float*>(shared);
  float2* const max_sums = reinterpret_cast<float2*>(sums + kWarps * kMostRows * kDim);
  warp.store_partial(sums, max_sums, rows, [&](int i) { return warp_index * kMostRows + i; });
  __syncthreads();
  const std::int64_t place =
      static_cast<std::int64_t>(part) * heads.heads * allowed.queries + first_row;
#pragma unroll 1
  for (int i = threadIdx.x; i < rows * kDim; i += kBlock) {
    const int row = i / kDim;
    JoinedRow joined;
#pragma unroll
    for (int w = 0; w < kWarps; ++w)
      joined.add(sums[w * kMostRows * kDim + i], max_sums[w * kMostRows + row]);
    if (split.splits == 1) {
      o[first_row * kDim + i] = from_float<In>(joined.mean());
      if (i % kDim == 0) log_sum[first_row + row] = joined.log_sum();
    } else {
      partial.o[place * kDim + i] = joined.value;
      if (i % kDim == 0) partial.max_sum[place + row] = make_float2(joined.max, joined.sum);
    }
  }
}

// Puts the parts of a row together: a block has one row, a thread an element of it.
template <class In>
__global__ void __launch_bounds__(kMostDim)
    combine_kernel(Partial partial, int splits, std::int64_t rows, In* o, float* log_sum) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * gridDim.x + blockIdx.x;
  const int dim = blockDim.x;
  JoinedRow joined;
#pragma unroll 4
  for (int i = 0; i < splits; ++i)
    joined.add(partial.o[(i * rows + row) * dim + threadIdx.x], partial.max_sum[i * rows + row]);
  o[row * dim + threadIdx.x] = from_float<In>(joined.mean());
  if (threadIdx.x == 0) log_sum[row] = joined.log_sum();
}

// ---- how the variants are launched

enum class Way { per_head, split_keys, shared_keys };

std::int64_t keys_of_tile(const Problem& p) {
  return p.head_dim == 64 ? kDecodeKeys<64> : kDecodeKeys<128>;
}

// As few parts as keep most places of blocks taken, wave by wave: the fewest that come within 85 %
// of the best (the rule of FlashAttention's flash_api).
Split split_of(const Problem& p, const DeviceSpec& device, Way way) {
  constexpr std::int64_t kBlocksPerSm = 3, kMostParts = 128;
  constexpr double kGoodShare = 0.85;
  const std::int64_t of_block = way == Way::shared_keys ? p.group : 1;
  const std::int64_t tiles = ceil_div(p.keys, keys_of_tile(p));
  const std::int64_t turns = ceil_div(tiles, kWarps);  // of a block's warps
  const std::int64_t blocks = p.batch * p.heads / of_block;
  const std::int64_t places = kBlocksPerSm * device.sm_count;
  const auto taken = [&](std::int64_t parts) {
    const std::int64_t all = blocks * parts;
    return static_cast<double>(all) / static_cast<double>(ceil_div(all, places) * places);
  };
  const std::int64_t most = way == Way::per_head ? 1 : std::min(turns, kMostParts);
  double best = 0;
  for (std::int64_t parts = 1; parts <= most; ++parts)
    best = std::max(best, taken(parts));
  std::int64_t parts = 1;
  while (taken(parts) < kGoodShare * best)
    ++parts;
  const std::int64_t of_part = kWarps * ceil_div(turns, parts);
  return {static_cast<int>(of_block), static_cast<int>(ceil_div(tiles, of_part)),
          static_cast<int>(of_part)};
}

std::int64_t partial_bytes(const Problem& p, std::int64_t parts) {
  return p.rows() * parts * static_cast<std::int64_t>(p.head_dim * sizeof(float) + sizeof(float2));
}

Steps launch_decode(const Problem& p, const Data& d, const LaunchContext& context, Way way) {
  return with_type_and_dim(p, [&](auto in, auto dim) {
    using In = decltype(in);
    const Split split = split_of(p, context.device, way);
    auto* const sums = static_cast<float2*>(context.workspace);
    const Partial partial{reinterpret_cast<float*>(sums + split.splits * p.rows()), sums};
    const Shape s = shape_of_blocks(
        {split.splits, p.batch * p.heads / split.heads_of_block}, {kBlock},
        {ceil_div(p.queries, split.splits), split.heads_of_block}, kDecodeBytes<dim>);
    In* const o = static_cast<In*>(d.o);
    Steps steps = launch(decode_kernel<In, dim>, s, heads_of(p), operands<In>(d), o, d.log_sum,
                         split, partial);
    if (split.splits == 1) return steps;
    Shape of_row;
    of_row.block = {dim, 1, 1};
    of_row.tile = {1, 1, 1};
    of_row.grid = {p.queries, p.batch * p.heads, 1};
    return steps +
           launch(combine_kernel<In>, of_row, partial, split.splits, p.rows(), o, d.log_sum);
  });
}

Variant decode(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected,
               Way way) {
  Variant v = variant(std::move(id), std::move(compare_to), std::move(expected));
  v.unsupported = [way](const Problem& p, const DeviceSpec& device) -> std::optional<std::string> {
    const std::int64_t rows = p.queries * (way == Way::shared_keys ? p.group : 1);
    if (rows > kMostRows)
      return "a block has at most " + std::to_string(kMostRows) +
             " rows of queries: longer ones are for the family attention";
    return has_no_dropout(p, device);
  };
  const auto workspace = [way](const Problem& p, const DeviceSpec& device) {
    const int splits = split_of(p, device, way).splits;
    return splits == 1 ? 0 : partial_bytes(p, splits);
  };
  v.workspace_bytes = workspace;
  v.metrics = [workspace](const Problem& p, const DeviceSpec& device) {
    return memory_of(p, workspace(p, device));
  };
  v.launch = [way](const Problem& p, const Data& d, const LaunchContext& context) {
    return launch_decode(p, d, context, way);
  };
  return v;
}

// Keys far beyond L2, and too few heads for all SMs.
bool is_long(const Problem& p) {
  constexpr std::int64_t kManyKeys = 8192, kFewBlocks = 64;
  return p.keys >= kManyKeys && p.batch * p.heads <= kFewBlocks;
}
bool shares_keys(const Problem& p) {
  constexpr std::int64_t kManyBytes = std::int64_t{1} << 24;
  return p.group >= 4 && p.key_elements() * element_bytes(p) * 2 >= kManyBytes;
}

Variant per_head() {
  return decode("per_head", "", {}, Way::per_head);
}

// ---- split_keys: a block per part of the keys
//
// The keys of a head are split into parts, as few as nearly fill whole waves of three blocks per
// SM. Each block stores its partial rows in fp32 with their maximum and sum, and a second kernel
// combines them. More SMs load keys at a time: sm_balance_pct increases for long sequences. The
// cost is the second kernel and the partial rows, a few rows where the first kernel loads thousands
// of keys. If batch and heads alone fill the waves, there is one part, as in per_head.

Variant split_keys() {
  return decode("split_keys", "per_head", {{"sm_balance_pct", Direction::increases, 1.5, is_long}},
                Way::split_keys);
}

// ---- shared_keys: heads that share keys, in one block
//
// The heads of a group ask the same keys (grouped-query attention): their queries are rows of one
// product, which takes 16 rows in any case, and each key goes to shared memory once for all of
// them. l2_sectors fall by what the group has; tensor_instructions likewise.

Variant shared_keys() {
  return decode("shared_keys", "split_keys", {{"l2_sectors", Direction::decreases, 2, shares_keys}},
                Way::shared_keys);
}

// ---- cudnn: what a library makes of it
//
// It is asked for what attention/cudnn is asked for, with one query.

Variant cudnn_attention() {
  return cudnn_variant();
}

// ---- declaration

Family declare() {
  Family f("attention_decode", Topic::patterns,
           "What keeps a GPU busy that has one query per head?");
  f.physics =
      "A sequence is generated token by token, and each new token attends to all keys before it: "
      "one query per head. In 16 bits each byte of K and V is loaded for one operation per query. "
      "Time is bytes over bandwidth, if enough bytes are in flight on all SMs. One block per head "
      "has too few of them in flight; one block per part of the keys has enough. A block with all "
      "heads of a group loads their shared keys once.";
  declare_attention(f, {4, 4, 1, 65536});
  f.figure("attention_decode", "traffic", "One query per head");
  f.variants(per_head(), split_keys(), shared_keys(), cudnn_attention());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::attention_decode
