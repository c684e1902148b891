// Attention's backward pass on tensor cores: operations of a warp on tiles of scores, and
// accumulation of dQ in global memory.
//
// A warp computes transposed scores, Sᵀ = K·Qᵀ. Their registers have the layout of the next
// product's left operand (mma_sync.cuh), so the warp computes dV = Pᵀ·dO and dK = dSᵀ·Q without
// shared memory. For dQ = dS·K, all warps load dSᵀ from shared memory, transposed.
#pragma once

#include "kernels/common/attention_tile.cuh"

namespace gpuexp::attention {

template <class In>
struct GradientOperands {
  Operands<In> x;
  const In* d_o;
  const float* log_sum2;  ///< log₂ Σ e^s; infinity if the row attends to no key (weights are 0)
  const float* delta;     ///< Σ dO·O
};

constexpr int kTileQueries = 64;
constexpr int kBlockKeys = 128;
constexpr int kKeyWarps = kBlockKeys / 16;
constexpr int kKeyThreads = 32 * kKeyWarps;

/// Rows per head in arrays with one value per row. Padding aligns each tile to 16 bytes.
__host__ __device__ inline std::int64_t padded_rows(std::int64_t queries) {
  return (queries + kTileQueries - 1) / kTileQueries * kTileQueries;
}

/// The tiles of queries, `first` to `end` - 1, that can attend to the kBlockKeys keys starting at
/// `from`. is_whole() returns whether all queries of the tile at `query` attend to all these
/// keys.
struct QueryRange {
  int first;
  int end;
  int key;
  int end_key;
  __device__ QueryRange(const AttendedKeys& allowed, int from)
      : key(from), end_key(min(from + kBlockKeys, allowed.keys)) {
    const int shift = allowed.keys - allowed.queries;
    const int first_query = allowed.is_causal ? max(key - shift, 0) : 0;
    // The last query whose window contains the block's last key.
    const int last_query = allowed.window < allowed.keys
                               ? min(end_key + allowed.window - 2 - shift, allowed.queries - 1)
                               : allowed.queries - 1;
    first = first_query / kTileQueries;
    end = max(last_query + kTileQueries, 0) / kTileQueries;
  }
  __device__ bool is_whole(const AttendedKeys& allowed, int query) const {
    const int last = min(query + kTileQueries, allowed.queries) - 1;
    return allowed.first(last) <= key && allowed.end(query) >= end_key;
  }
};

/// Replaces scores s by weights e^(scale·s - L), where log_sum2_of(i, half, j, c) returns
/// L·log₂(e) of the element's query, and `scale_log2` is scale·log₂(e).
template <int kRowTiles, int kColumnTiles, class LogSumOf>
__device__ __forceinline__ void compute_weights(MmaSums<float> (&s)[kRowTiles][kColumnTiles],
                                                float scale_log2, LogSumOf log_sum2_of) {
#pragma unroll
  for (int i = 0; i < kRowTiles; ++i)
#pragma unroll
    for (int j = 0; j < kColumnTiles; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          float& score = s[i][j].x[2 * half + c];
          score = fast_exp2(fmaf(score, scale_log2, -log_sum2_of(i, half, j, c)));
        }
}

/// Offset of dQ's fp32 sums for the tile of queries that starts at `query`.
__host__ __device__ inline std::int64_t dq_sums_offset(std::int64_t head, std::int64_t queries,
                                                       int query, int dim) {
  return (head * padded_rows(queries) + query) * dim;
}

template <class In>
struct KeyGradients {
  In* dk;
  In* dv;
};

/// Shared memory of a thread block that processes kBlockKeys keys: K, V, kStages stages of Q, dO,
/// log_sum2 and delta, and dSᵀ if the block computes dQ (kAccumulatesDq).
template <int kDim, int kStages, bool kAccumulatesDq>
struct KeyBlockTiles {
  using Tile = RowTile<kDim>;
  static constexpr int kKeyBytes = kBlockKeys * Tile::kPitch;
  static constexpr int kQueryBytes = kTileQueries * Tile::kPitch;
  static constexpr int kRowBytes = kTileQueries * static_cast<int>(sizeof(float));
  static constexpr int kStageBytes = 2 * (kQueryBytes + kRowBytes);
  static constexpr int kScoreBytes =
      kAccumulatesDq ? kBlockKeys * RowTile<kTileQueries>::kPitch : 0;
  static constexpr int kBytes = 2 * kKeyBytes + kStages * kStageBytes + kScoreBytes;
  char* shared;
  __device__ char* k() const { return shared; }
  __device__ char* v() const { return shared + kKeyBytes; }
  __device__ char* q(int stage) const { return shared + 2 * kKeyBytes + stage * kStageBytes; }
  __device__ char* d_o(int stage) const { return q(stage) + kQueryBytes; }
  __device__ float* log_sum2(int stage) const {
    return reinterpret_cast<float*>(d_o(stage) + kQueryBytes);
  }
  __device__ float* delta(int stage) const { return log_sum2(stage) + kTileQueries; }
  __device__ char* scores() const { return shared + 2 * kKeyBytes + kStages * kStageBytes; }
};

/// Sets weights to 0 where the query does not attend to the key. The rows of the warp's tile are
/// keys starting at `key`, the columns are queries starting at `query`.
template <int kColumnTiles>
__device__ __forceinline__ void apply_mask_transposed(MmaSums<float> (&p)[1][kColumnTiles],
                                                      const AttendedKeys& allowed, int key,
                                                      int query) {
#pragma unroll
  for (int j = 0; j < kColumnTiles; ++j) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const int at = query + accumulator_column(j, c);
      const int first = allowed.first(at) - key;
      const int end = allowed.end(at) - key;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = accumulator_row(0, half);
        if (row < first || row >= end) p[0][j].x[2 * half + c] = 0.0f;
      }
    }
  }
}

/// Two bits: whether dropout keeps the keys `key` and `key` + 1 of a row; `key` is even.
__device__ __forceinline__ unsigned kept_pair(const Heads& heads, std::int64_t row, int key) {
  const std::uint32_t threshold = dropout_threshold(heads.dropout);
  const PhiloxWords words =
      philox_words(heads.dropout_seed, dropout_group(row, heads.allowed.keys, key));
  const bool is_upper = key % 4 != 0;
  const std::uint32_t a = is_upper ? words.word[2] : words.word[0];
  const std::uint32_t b = is_upper ? words.word[3] : words.word[1];
  return (a >= threshold ? 1u : 0u) | (b >= threshold ? 2u : 0u);
}

/// Four bits: which of a lane's four elements of a tile of scores dropout keeps. `row` is the
/// tile's first row, counted over all rows of Q; `key` is its first key.
__device__ __forceinline__ unsigned dropout_mask_of_tile(const Heads& heads, std::int64_t row,
                                                         int key) {
  const int at = key + accumulator_column(0, 0);
  return kept_pair(heads, row + accumulator_row(0, 0), at) |
         kept_pair(heads, row + accumulator_row(0, 1), at) << 2;
}

/// dropout_mask_of_tile() for a transposed tile. One call of Philox covers four keys, which four
/// lanes have. Each of these lanes makes the call for one of its four elements, and receives the
/// bits of its other three elements from the other three lanes.
__device__ __forceinline__ unsigned dropout_mask_of_transposed_tile(const Heads& heads,
                                                                    std::int64_t row, int key) {
  const std::uint32_t threshold = dropout_threshold(heads.dropout);
  const int own = accumulator_row(0, 0) % 4;
  const PhiloxWords words = philox_words(
      heads.dropout_seed, dropout_group(row + accumulator_column(0, own % 2), heads.allowed.keys,
                                        key + accumulator_row(0, own / 2)));
  unsigned kept = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    kept |= words.word[i] >= threshold ? 1u << i : 0u;
  unsigned elements = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    constexpr int kLanesOfRow = 4;
    const int lane = static_cast<int>(threadIdx.x % 32) + (i - own) * kLanesOfRow;
    elements |= (__shfl_sync(0xffffffffu, kept, lane) >> own & 1u) << i;
  }
  return elements;
}

/// Packs kept_of(tile) of all tiles of a lane, four bits per tile. Kernels call this before they
/// compute scores, because the random words and the scores both need many registers.
template <bool kHasDropout, int kTiles, class KeptOf>
__device__ __forceinline__ unsigned dropout_mask(KeptOf kept_of) {
  static_assert(4 * kTiles <= 32, "a bit for each element of a lane");
  unsigned kept = 0;
  if constexpr (kHasDropout) {
#pragma unroll 2
    for (int tile = 0; tile < kTiles; ++tile)
      kept |= kept_of(tile) << 4 * tile;
  }
  return kept;
}

/// Replaces P and dP by the left operands of the gradient products: P with dropout, and dS =
/// P∘(f·dP - delta), where f is 0 for dropped elements, otherwise the gain. delta_of(i, half, j,
/// c) returns delta of the element's query. `kept` has four bits per tile of a lane.
template <bool kHasDropout, int kRowTiles, int kColumnTiles, class DeltaOf>
__device__ __forceinline__ void compute_score_gradients(
    MmaSums<float> (&p)[kRowTiles][kColumnTiles], MmaSums<float> (&ds)[kRowTiles][kColumnTiles],
    const Heads& heads, DeltaOf delta_of, unsigned kept) {
  const float gain = kHasDropout ? 1.0f / (1.0f - heads.dropout) : 1.0f;
#pragma unroll
  for (int i = 0; i < kRowTiles; ++i) {
#pragma unroll
    for (int j = 0; j < kColumnTiles; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          float& weight = p[i][j].x[2 * half + c];
          float& gradient = ds[i][j].x[2 * half + c];
          const int bit = 4 * (i * kColumnTiles + j) + 2 * half + c;
          const float factor = kHasDropout && (kept >> bit & 1) == 0 ? 0.0f : gain;
          gradient = weight * (factor * gradient - delta_of(i, half, j, c));
          weight *= factor;
        }
      }
    }
  }
}

/// A warp rounds dSᵀ to In and stores it to shared memory, starting at row `key_row`.
template <class In, int kColumnTiles>
__device__ __forceinline__ void store_transposed(const MmaSums<float> (&ds)[1][kColumnTiles],
                                                 char* scores, int key_row) {
#pragma unroll
  for (int j = 0; j < kColumnTiles; ++j) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float2 pair = ds[0][j].pair(half);
      const int at = RowTile<8 * kColumnTiles>::offset(key_row + accumulator_row(0, half),
                                                       2 * accumulator_column(j, 0));
      *reinterpret_cast<unsigned*>(scores + at) = round_to_pair<In>(pair.x, pair.y);
    }
  }
}

/// dS·K for a tile of queries, by all warps of a block. Each warp computes 16·kRowTiles rows and
/// 8·kColumnTiles columns.
template <class In, int kDim>
class TileGradient {
  using Scores = RowTile<kTileQueries>;
  using Keys = RowTile<kDim>;
  // ldmatrix loads two tiles of 8 columns. For kDim = 96, a quarter of the columns would be three
  // tiles, so each warp computes half of the columns.
  static constexpr int kRowWarps = kDim == 96 ? 4 : 2;
  static constexpr int kRowTiles = kTileQueries / 16 / kRowWarps;
  static constexpr int kColumnTiles = kDim / 8 * kRowWarps / kKeyWarps;

 public:
  /// Number of fragments per tile; each fragment has four sums per lane.
  static constexpr int kFragments = kDim / 8 * kTileQueries / 16;

  __device__ __forceinline__ void multiply(const char* scores, const char* k) {
    const int lane = threadIdx.x % 32;
    const char* const a_row =
        scores + Scores::offset(lane / 16 * 8 + lane % 8, 2 * first_row() + lane / 8 % 2 * 16);
    const char* const b_row = k + Keys::offset(lane % 16, 2 * first_column() + lane / 16 * 16);
#pragma unroll
    for (int step = 0; step < kBlockKeys / 16; ++step) {
      unsigned a[kRowTiles][4];
#pragma unroll
      for (int i = 0; i < kRowTiles; ++i)
        ldmatrix_x4_transposed(a[i], a_row + 16 * step * Scores::kPitch + 32 * i);
#pragma unroll
      for (int j = 0; j < kColumnTiles; j += 2) {
        unsigned b[4];
        ldmatrix_x4_transposed(b, b_row + 16 * step * Keys::kPitch + 16 * j);
#pragma unroll
        for (int i = 0; i < kRowTiles; ++i) {
          mma<In>(sums_[i][j], a[i], {b[0], b[1]});
          mma<In>(sums_[i][j + 1], a[i], {b[2], b[3]});
        }
      }
    }
  }

  /// Adds the sums to the tile's sums in global memory, which are stored in fragment order, so
  /// that neighbouring lanes access neighbouring words.
  __device__ __forceinline__ void add_to(float* tile) const {
    constexpr int kColumns = kDim / 8;
    const int first = first_row() / 16 * kColumns + first_column() / 8;
    float* const own = tile + (first * 32 + threadIdx.x % 32) * 4;
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i)
#pragma unroll
      for (int j = 0; j < kColumnTiles; ++j)
        add_words(own + (i * kColumns + j) * 128, sums_[i][j].x);
  }

 private:
  __device__ static int first_row() {
    return static_cast<int>(threadIdx.x) / 32 % kRowWarps * 16 * kRowTiles;
  }
  __device__ static int first_column() {
    return static_cast<int>(threadIdx.x) / 32 / kRowWarps * 8 * kColumnTiles;
  }
  /// One 16-byte atomic addition; before compute capability 9.0, four 4-byte atomic additions.
  __device__ static void add_words(float* to, const float (&x)[4]) {
#if __CUDA_ARCH__ >= 900
    atomicAdd(reinterpret_cast<float4*>(to), make_float4(x[0], x[1], x[2], x[3]));
#else
#pragma unroll
    for (int c = 0; c < 4; ++c)
      atomicAdd(to + c, x[c]);
#endif
  }

  MmaSums<float> sums_[kRowTiles][kColumnTiles] = {};
};

}  // namespace gpuexp::attention
