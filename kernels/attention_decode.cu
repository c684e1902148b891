// attention_decode: attention of the newest token of a sequence to all tokens before it.
//
// The question: what keeps a GPU busy if each head has one query? One block per head leaves most
// SMs idle. If the keys of a head are split over several blocks, each block stores a partial output
// with its maximum and sum, and a second kernel combines them ("Flash-Decoding", Dao, Haziza,
// Massa, Sizov, 2023).
#include <algorithm>

#include "kernels/common/attention_family.cuh"
#include "kernels/common/attention_tile.cuh"

namespace gpuexp::attention_decode {

using namespace attention;
using attention::Family;
using attention::Variant;

constexpr int kMaxRows = 16;  // query rows per block; at most the 16 rows of one product

// How blocks divide the work. A block has all queries of `heads_of_block` heads, which is 1 or the
// problem's group, and one part of their keys.
struct Split {
  int heads_of_block;
  int splits;  // number of parts of the keys
  int tiles;   // tiles per part
};

// Partial rows of all parts: unnormalized O, and each row's maximum and sum.
struct Partial {
  float* o;
  float2* max_sum;
};

// Keys per tile; each warp has its own tile.
template <int kDim>
constexpr int kDecodeKeys = kDim == 64 ? 64 : 32;

template <int kDim>
constexpr int kDecodeBytes = (kMaxRows + 2 * kWarps * kDecodeKeys<kDim>)*RowTile<kDim>::kPitch;

// One element of O, combined from several parts of the keys, and its row's maximum and sum.
struct JoinedRow {
  float value = 0.0f;
  float max = -INFINITY;
  float sum = 0.0f;
  __device__ void add(float part_value, float2 max_sum) {
    if (max_sum.y == 0.0f) return;  // the row attends to no key of this part
    const float larger = fmaxf(max, max_sum.x);
    const float own = fast_exp2(max - larger);
    const float other = fast_exp2(max_sum.x - larger);
    value = value * own + part_value * other;
    sum = sum * own + max_sum.y * other;
    max = larger;
  }
  __device__ float mean() const { return sum > 0.0f ? value / sum : 0.0f; }
  __device__ float log_sum() const { return sum > 0.0f ? (max + log2f(sum)) * kLn2 : -INFINITY; }
};

// ---- per_head: a block per head
//
// Each warp multiplies 16 rows by a tile of keys, and only one row is a query of the head: bytes
// are the limit, so the tensor cores have time for the other 15 rows. The four warps of a block
// process tiles in turn. cp.async copies a warp's next keys to its own shared memory while the warp
// multiplies values. At the end, the block combines the warps' rows. There are as many blocks as
// heads, so sm_balance_pct is low and DRAM is underused.

template <class In, int kDim>
__global__ void __launch_bounds__(kBlock, 3)
    decode_kernel(Heads heads, Operands<In> x, In* o, float* log_sum, Split split,
                  Partial partial) {
  using Tile = RowTile<kDim>;
  constexpr int kKeys = kDecodeKeys<kDim>;
  using Warp = WarpAttention<In, kDim, 1, kKeys>;
  extern __shared__ __align__(16) char shared[];
  const AttendedKeys& allowed = heads.allowed;
  const int rows = split.heads_of_block * allowed.queries;
  const std::int64_t head = static_cast<std::int64_t>(blockIdx.y) * split.heads_of_block;
  const int part = static_cast<int>(blockIdx.x);
  const std::int64_t first_row = heads.first_query(head);
  const In* const k = x.k + heads.first_key(head) * kDim;
  const In* const v = x.v + heads.first_key(head) * kDim;
  const int warp_index = threadIdx.x / 32;
  char* const k_tile = shared + (kMaxRows + 2 * kKeys * warp_index) * Tile::kPitch;
  char* const v_tile = k_tile + kKeys * Tile::kPitch;
  const int first = part * split.tiles + warp_index;
  const int end = min((part + 1) * split.tiles, (allowed.keys + kKeys - 1) / kKeys);
  const auto begin = [&](char* tile, const In* from, int index) {
    if (index < end)
      copy_rows_async<kDim, kKeys, 32>(tile, from + index * kKeys * kDim,
                                       allowed.keys - index * kKeys);
    cp_async_commit();
  };
  copy_rows_async<kDim, kMaxRows>(shared, x.q + first_row * kDim, rows);
  cp_async_commit();
  begin(k_tile, k, first);
  begin(v_tile, v, first);
  cp_async_wait<2>();
  __syncthreads();  // all threads' copies of queries have arrived
  Warp warp;
#pragma unroll 1
  for (int tile = first; tile < end; tile += kWarps) {
    typename Warp::Scores s;
    cp_async_wait<1>();
    __syncwarp();  // keys have arrived
    Warp::multiply(s, shared, k_tile);
    __syncwarp();
    begin(k_tile, k, tile + kWarps);
    Warp::apply_mask(s, allowed, tile * kKeys, [&](int i) { return i % allowed.queries; });
    warp.online_softmax(s, heads.scale * kLog2E, 8.0f);
    cp_async_wait<1>();
    __syncwarp();  // values have arrived
    warp.add(s, v_tile);
    __syncwarp();
    begin(v_tile, v, tile + kWarps);
  }
  cp_async_wait<0>();
  __syncthreads();

  // The warps' partial rows overwrite their tiles.
  float* const sums = reinterpret_cast<float*>(shared);
  float2* const max_sums = reinterpret_cast<float2*>(sums + kWarps * kMaxRows * kDim);
  warp.store_partial(sums, max_sums, rows, [&](int i) { return warp_index * kMaxRows + i; });
  __syncthreads();
  const std::int64_t place =
      static_cast<std::int64_t>(part) * heads.heads * allowed.queries + first_row;
#pragma unroll 1
  for (int i = threadIdx.x; i < rows * kDim; i += kBlock) {
    const int row = i / kDim;
    JoinedRow joined;
#pragma unroll
    for (int w = 0; w < kWarps; ++w)
      joined.add(sums[w * kMaxRows * kDim + i], max_sums[w * kMaxRows + row]);
    if (split.splits == 1) {
      o[first_row * kDim + i] = from_float<In>(joined.mean());
      if (i % kDim == 0) log_sum[first_row + row] = joined.log_sum();
    } else {
      partial.o[place * kDim + i] = joined.value;
      if (i % kDim == 0) partial.max_sum[place + row] = make_float2(joined.max, joined.sum);
    }
  }
}

template <class In>
__global__ void __launch_bounds__(kMaxDim)
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

// Chooses the smallest number of parts whose share of occupied block slots, over whole waves, is at
// least 85 % of the largest share for any number of parts (the rule of FlashAttention's flash_api).
Split split_of(const Problem& p, const DeviceSpec& device, Way way) {
  constexpr std::int64_t kBlocksPerSm = 3, kMaxParts = 128;
  constexpr double kGoodShare = 0.85;
  const std::int64_t of_block = way == Way::shared_keys ? p.group : 1;
  const std::int64_t tiles = ceil_div(p.keys, keys_of_tile(p));
  const std::int64_t iterations = ceil_div(tiles, kWarps);  // iterations of a block's warps
  const std::int64_t blocks = p.batch * p.heads / of_block;
  const std::int64_t slots = kBlocksPerSm * device.sm_count;
  const auto occupied_share = [&](std::int64_t parts) {
    const std::int64_t all = blocks * parts;
    return static_cast<double>(all) / static_cast<double>(ceil_div(all, slots) * slots);
  };
  const std::int64_t max_parts = way == Way::per_head ? 1 : std::min(iterations, kMaxParts);
  double best = 0;
  for (std::int64_t parts = 1; parts <= max_parts; ++parts)
    best = std::max(best, occupied_share(parts));
  std::int64_t parts = 1;
  while (occupied_share(parts) < kGoodShare * best)
    ++parts;
  const std::int64_t tiles_per_part = kWarps * ceil_div(iterations, parts);
  return {static_cast<int>(of_block), static_cast<int>(ceil_div(tiles, tiles_per_part)),
          static_cast<int>(tiles_per_part)};
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
    if (rows > kMaxRows)
      return "a block processes at most " + std::to_string(kMaxRows) +
             " rows of queries: use the family attention for more";
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

// True if the keys exceed L2 and there are fewer blocks than SMs.
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
// combines them. More SMs load keys than in per_head: sm_balance_pct increases for long sequences.
// The cost is the second kernel and the partial rows, which are small compared with the keys.

Variant split_keys() {
  return decode("split_keys", "per_head", {{"sm_balance_pct", Direction::increases, 1.5, is_long}},
                Way::split_keys);
}

// ---- shared_keys: heads that share keys, in one block
//
// The heads of a group attend to the same keys (grouped-query attention). Their queries become rows
// of one product, which has 16 rows in any case, and each key is copied to shared memory once per
// group. l2_sectors decreases by the group size, and tensor_instructions decreases too.

Variant shared_keys() {
  return decode("shared_keys", "split_keys", {{"l2_sectors", Direction::decreases, 2, shares_keys}},
                Way::shared_keys);
}

// ---- cudnn: the cuDNN baseline
//
// The call is the same as in attention/cudnn, with one query per head.

Variant cudnn_attention() {
  return cudnn_variant();
}

// ---- declaration

Family declare() {
  Family f("attention_decode", Topic::patterns,
           "What keeps a GPU busy when each head has one query?");
  f.physics =
      "A sequence is generated token by token, and each new token attends to all keys before it: "
      "one query per head. In 16 bits each byte of K and V is loaded for one operation per query. "
      "Time is bytes over bandwidth, if enough bytes are in flight on all SMs. One block per head "
      "has too few of them in flight; one block per part of the keys has enough. A block with all "
      "heads of a group loads their shared keys once.";
  declare_attention(f, {4, 4, 1, 65536});
  f.plot("attention_decode", "traffic", "Attention with one query per head: useful bandwidth");
  f.variants(per_head(), split_keys(), shared_keys(), cudnn_attention());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::attention_decode
