// Attention of a warp on tensor cores: 16 or 32 queries, tiles of keys, online softmax, and
// accumulators in registers (Dao, "FlashAttention-2", 2023).
//
// mma.sync leaves the scores of 16 queries and 8 keys in registers in the layout of the next
// product's left operand (mma_sync.cuh), so P needs no shared memory. Four lanes share a row and
// reduce its maximum and sum.
#pragma once

#include "kernels/common/attention_problem.cuh"
#include "kernels/common/cp_async.cuh"
#include "kernels/common/mma_sync.cuh"
#include "kernels/common/pack.cuh"
#include "kernels/common/philox.cuh"
#include "kernels/common/row_group.cuh"

namespace gpuexp::attention {

constexpr int kWarps = 4;
constexpr int kBlock = 32 * kWarps;

/// Rows of kDim 16-bit elements in shared memory. With 16 bytes of padding, the eight rows that
/// ldmatrix reads at once use all 32 banks.
template <int kDim>
struct RowTile {
  static constexpr int kPitch = 2 * kDim + 16;
  static constexpr int kUnits = kDim / 8;  // 16-byte units per row
  __device__ static int offset(int row, int byte) { return row * kPitch + byte; }
};

/// All threads of the block load kRows rows of kDim elements to shared memory: the `left` rows
/// that start at `from`, then rows of zeros.
template <int kDim, int kRows, class In>
__device__ __forceinline__ void load_rows(char* tile, const In* from, int left) {
  using Tile = RowTile<kDim>;
  static_assert(kRows * Tile::kUnits % kBlock == 0, "whole passes");
#pragma unroll
  for (int pass = 0; pass < kRows * Tile::kUnits / kBlock; ++pass) {
    const int i = threadIdx.x + pass * kBlock;
    const int row = i / Tile::kUnits;
    const int unit = i % Tile::kUnits;
    uint4 bits = make_uint4(0, 0, 0, 0);
    if (row < left) bits = *reinterpret_cast<const uint4*>(from + row * kDim + unit * 8);
    *reinterpret_cast<uint4*>(tile + Tile::offset(row, unit * 16)) = bits;
  }
}
/// load_rows() by cp.async of kThreads neighbouring threads. The caller commits the group.
template <int kDim, int kRows, int kThreads = kBlock, class In>
__device__ __forceinline__ void copy_rows_async(char* tile, const In* from, int left) {
  using Tile = RowTile<kDim>;
  constexpr int kCopies = kRows * Tile::kUnits;
#pragma unroll
  for (int pass = 0; pass < (kCopies + kThreads - 1) / kThreads; ++pass) {
    const int i = threadIdx.x % kThreads + pass * kThreads;
    if (kCopies % kThreads != 0 && i >= kCopies) break;
    const int row = i / Tile::kUnits;
    const int unit = i % Tile::kUnits;
    const bool in_bounds = row < left;
    cp_async<16>(tile + Tile::offset(row, unit * 16),
                 from + (in_bounds ? row * kDim + unit * 8 : 0), in_bounds);
  }
}

/// A warp stores at most `left` of the kRows rows in shared memory to rows with a stride of
/// `pitch` elements. It stores the first `columns` elements of each row, a multiple of 8.
template <int kColumns, int kRows, int kPitch, class In>
__device__ __forceinline__ void store_rows(const char* tile, In* to, std::int64_t pitch, int left,
                                           int columns = kColumns) {
  constexpr int kUnits = kColumns / 8;
#pragma unroll
  for (int pass = 0; pass < kRows * kUnits / 32; ++pass) {
    const int i = threadIdx.x % 32 + pass * 32;
    const int row = i / kUnits;
    const int unit = i % kUnits;
    if (row < left && unit * 8 < columns)
      *reinterpret_cast<uint4*>(to + row * pitch + unit * 8) =
          *reinterpret_cast<const uint4*>(tile + row * kPitch + unit * 16);
  }
}

constexpr float kLn2 = 0.693147181f;

constexpr int kLanesOfRow = 4;  // lanes that share a row of a product

template <class In>
__device__ __forceinline__ unsigned round_to_pair(float a, float b) {
  const auto pair = narrow<In>(make_float2(a, b));
  unsigned bits;
  memcpy(&bits, &pair, sizeof bits);
  return bits;
}

/// Row and column of an element in a warp's 16·kRowTiles × kColumns sums, from its row tile i and
/// half, and its column tile j and element c (mma_sync.cuh).
__device__ __forceinline__ int accumulator_row(int i, int half) {
  return 16 * i + 8 * half + static_cast<int>(threadIdx.x % 32 / 4);
}
__device__ __forceinline__ int accumulator_column(int j, int c) {
  return 8 * j + 2 * static_cast<int>(threadIdx.x % 4) + c;
}

/// sums += S·V. S is in registers in the layout of a product's result, and is rounded to In; V
/// has kKeys rows in shared memory.
template <class In, int kDim, int kRowTiles, int kKeys>
__device__ __forceinline__ void accumulate_product(MmaSums<float> (&sums)[kRowTiles][kDim / 8],
                                                   const MmaSums<float> (&s)[kRowTiles][kKeys / 8],
                                                   const char* v) {
  using Tile = RowTile<kDim>;
  const int lane = threadIdx.x % 32;
  const char* const v_row = v + Tile::offset(lane % 16, lane / 16 * 16);
#pragma unroll
  for (int step = 0; step < kKeys / 16; ++step) {
    unsigned a[kRowTiles][4];
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i) {
      const float(&left)[4] = s[i][2 * step].x;
      const float(&right)[4] = s[i][2 * step + 1].x;
      a[i][0] = round_to_pair<In>(left[0], left[1]);
      a[i][1] = round_to_pair<In>(left[2], left[3]);
      a[i][2] = round_to_pair<In>(right[0], right[1]);
      a[i][3] = round_to_pair<In>(right[2], right[3]);
    }
#pragma unroll
    for (int j = 0; j < kDim / 8; j += 2) {
      unsigned b[4];
      ldmatrix_x4_transposed(b, v_row + 16 * step * Tile::kPitch + 16 * j);
#pragma unroll
      for (int i = 0; i < kRowTiles; ++i) {
        mma<In>(sums[i][j], a[i], {b[0], b[1]});
        mma<In>(sums[i][j + 1], a[i], {b[2], b[3]});
      }
    }
  }
}

/// A warp multiplies each row of its sums by factor_of(i, half), rounds it to In, and stores the
/// first `left` rows at `to`. Only this warp uses `staging`, shared memory for 16·kRowTiles rows.
template <int kDim, int kRowTiles, class In, class FactorOf>
__device__ __forceinline__ void store_sums(const MmaSums<float> (&sums)[kRowTiles][kDim / 8],
                                           char* staging, In* to, int left, FactorOf factor_of) {
  using Tile = RowTile<kDim>;
#pragma unroll
  for (int i = 0; i < kRowTiles; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float factor = factor_of(i, half);
      char* const row = staging + Tile::offset(accumulator_row(i, half), 0);
#pragma unroll
      for (int j = 0; j < kDim / 8; ++j) {
        const float2 pair = sums[i][j].pair(half);
        *reinterpret_cast<unsigned*>(row + 2 * accumulator_column(j, 0)) =
            round_to_pair<In>(pair.x * factor, pair.y * factor);
      }
    }
  }
  __syncwarp();
  store_rows<kDim, 16 * kRowTiles, Tile::kPitch>(staging, to, kDim, left);
}

/// Attention of a warp's 16·kRowTiles queries over tiles of kKeys keys.
template <class In, int kDim, int kRowTiles, int kKeys>
class WarpAttention {
  using Tile = RowTile<kDim>;
  static constexpr int kKeyTiles = kKeys / 8;
  static constexpr int kColumnTiles = kDim / 8;

 public:
  static constexpr int kRows = 16 * kRowTiles;

  __device__ WarpAttention() {
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        max_[i][half] = -INFINITY;
        sum_[i][half] = 0.0f;
      }
    }
  }
  using Scores = MmaSums<float>[kRowTiles][kKeyTiles];

  /// s = Q·Kᵀ for the warp's rows of Q and a tile of K, both in shared memory.
  __device__ __forceinline__ static void multiply(Scores& s, const char* q, const char* k) {
    const int lane = threadIdx.x % 32;
    const char* const q_row = q + Tile::offset(lane % 16, lane / 16 * 16);
    // ldmatrix: two blocks along the head dimension, times two along the keys.
    const char* const k_row = k + Tile::offset(lane / 16 * 8 + lane % 8, lane / 8 % 2 * 16);
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i)
#pragma unroll
      for (int j = 0; j < kKeyTiles; ++j)
        s[i][j] = {};
#pragma unroll
    for (int step = 0; step < kDim / 16; ++step) {
      unsigned a[kRowTiles][4];
#pragma unroll
      for (int i = 0; i < kRowTiles; ++i)
        ldmatrix_x4(a[i], q_row + 16 * i * Tile::kPitch + 32 * step);
#pragma unroll
      for (int j = 0; j < kKeyTiles; j += 2) {
        unsigned b[4];
        ldmatrix_x4(b, k_row + 8 * j * Tile::kPitch + 32 * step);
#pragma unroll
        for (int i = 0; i < kRowTiles; ++i) {
          mma<In>(s[i][j], a[i], {b[0], b[1]});
          mma<In>(s[i][j + 1], a[i], {b[2], b[3]});
        }
      }
    }
  }

  /// Sets scores to minus infinity where the query does not attend to the key. `key` is the
  /// tile's first key; query_of(row) returns the query of a row of this warp.
  template <class QueryOf>
  __device__ __forceinline__ static void apply_mask(Scores& s, const AttendedKeys& allowed, int key,
                                                    QueryOf query_of) {
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int query = query_of(row_of(i, half));
        const int first = allowed.first(query) - key;
        const int end = allowed.end(query) - key;
#pragma unroll
        for (int j = 0; j < kKeyTiles; ++j) {
#pragma unroll
          for (int c = 0; c < 2; ++c) {
            const int at = column_of(j, c);
            if (at < first || at >= end) s[i][j].x[2 * half + c] = -INFINITY;
          }
        }
      }
    }
  }

  /// Replaces scores s by 2^((s - max)·scale_log2) and adds the results to the row sums. If a
  /// score times scale_log2 exceeds its row's maximum by more than `slack`, the warp updates its
  /// maxima and rescales its sums.
  __device__ __forceinline__ void online_softmax(Scores& s, float scale_log2, float slack) {
    bool grows = false;
    float largest[kRowTiles][2];
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float found = -INFINITY;
#pragma unroll
        for (int j = 0; j < kKeyTiles; ++j)
          found = fmaxf(found, fmaxf(s[i][j].x[2 * half], s[i][j].x[2 * half + 1]));
        largest[i][half] = scale_log2 * reduce_lanes<kLanesOfRow>(found, Larger());
        grows |= largest[i][half] > max_[i][half] + slack;
      }
    }
    if (__any_sync(0xffffffffu, grows)) rescale(largest);
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        // A row that has attended to no key so far has no maximum to subtract.
        const float max = max_[i][half] == -INFINITY ? 0.0f : max_[i][half];
#pragma unroll
        for (int j = 0; j < kKeyTiles; ++j) {
#pragma unroll
          for (int c = 0; c < 2; ++c) {
            float& score = s[i][j].x[2 * half + c];
            score = fast_exp2(fmaf(score, scale_log2, -max));
            sum_[i][half] += score;
          }
        }
      }
    }
  }

  /// Applies dropout: sets dropped elements of P to 0. `row` is the warp's first row, counted
  /// over all rows of Q. Two neighbouring lanes share each group of four keys. Each computes the
  /// random words of one of two groups, and sends half of them to the other lane.
  __device__ __forceinline__ static void drop(Scores& s, const Heads& heads, std::int64_t row,
                                              int key) {
    const std::uint32_t threshold = dropout_threshold(heads.dropout);
    const int upper = threadIdx.x % 2;
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int j = 0; j < kKeyTiles; j += 2) {
          const PhiloxWords own = philox_words(
              heads.dropout_seed, dropout_group(row + row_of(i, half), heads.allowed.keys,
                                                key + column_of(j + upper, 0)));
          const unsigned kept[2] = {upper ? own.word[2] : own.word[0],
                                    upper ? own.word[3] : own.word[1]};
          const unsigned sent[2] = {upper ? own.word[0] : own.word[2],
                                    upper ? own.word[1] : own.word[3]};
#pragma unroll
          for (int c = 0; c < 2; ++c) {
            const unsigned received = __shfl_xor_sync(0xffffffffu, sent[c], 1);
            if ((upper ? received : kept[c]) < threshold) s[i][j].x[2 * half + c] = 0.0f;
            if ((upper ? kept[c] : received) < threshold) s[i][j + 1].x[2 * half + c] = 0.0f;
          }
        }
      }
    }
  }

  __device__ __forceinline__ void add(const Scores& s, const char* v) {
    accumulate_product<In, kDim, kRowTiles, kKeys>(sums_, s, v);
  }

  /// Stores `left` rows of O at `o`: divided by the row sums, multiplied by `gain` and rounded to
  /// In. Also stores each row's log-sum-exp. `staging` is the warp's part of the tile of Q, which
  /// is not needed any more. A row that attends to no key gets zeros, and minus infinity as
  /// log-sum-exp.
  __device__ __forceinline__ void store(char* staging, In* o, float* log_sum, int left,
                                        float gain) const {
    store_sums<kDim, kRowTiles>(sums_, staging, o, left, [&](int i, int half) {
      const int row = row_of(i, half);
      const float sum = row_sum(i, half);
      if (threadIdx.x % 4 == 0 && row < left)
        log_sum[row] = sum > 0.0f ? (max_[i][half] + log2f(sum)) * kLn2 : -INFINITY;
      return sum > 0.0f ? gain / sum : 0.0f;
    });
  }

  /// Stores `left` rows of unnormalized O in fp32, with each row's maximum and sum, for a kernel
  /// that combines partial results. Row i is stored at index place_of(i).
  template <class PlaceOf>
  __device__ __forceinline__ void store_partial(float* o, float2* max_sum, int left,
                                                PlaceOf place_of) const {
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float sum = row_sum(i, half);
        if (row_of(i, half) >= left) continue;
        const std::int64_t place = place_of(row_of(i, half));
#pragma unroll
        for (int j = 0; j < kColumnTiles; ++j)
          *reinterpret_cast<float2*>(o + place * kDim + column_of(j, 0)) = sums_[i][j].pair(half);
        if (threadIdx.x % 4 == 0) max_sum[place] = make_float2(max_[i][half], sum);
      }
    }
  }

  /// Stores scale·S, rounded to In, in rows with a stride of `pitch` elements: at most `left_rows`
  /// rows and `left_keys` keys. Minus infinity pads each row to a multiple of 8 keys. Requires
  /// kKeys <= kDim.
  __device__ __forceinline__ static void store_scores(const Scores& s, char* staging, In* to,
                                                      std::int64_t pitch, int left_rows,
                                                      int left_keys, float scale) {
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int j = 0; j < kKeyTiles; ++j) {
          const int at = column_of(j, 0);
          const float2 pair = s[i][j].pair(half);
          *reinterpret_cast<unsigned*>(staging + Tile::offset(row_of(i, half), 2 * at)) =
              round_to_pair<In>(at < left_keys ? scale * pair.x : -INFINITY,
                                at + 1 < left_keys ? scale * pair.y : -INFINITY);
        }
      }
    }
    __syncwarp();
    const int columns = (left_keys + 7) / 8 * 8;
    store_rows<kKeys, kRows, Tile::kPitch>(staging, to, pitch, left_rows, columns);
  }

 private:
  __device__ float row_sum(int i, int half) const {
    return reduce_lanes<kLanesOfRow>(sum_[i][half], Sum());
  }
  __device__ static int row_of(int i, int half) {
    return accumulator_row(i, half);
  }
  __device__ static int column_of(int j, int c) {
    return accumulator_column(j, c);
  }

  __device__ __forceinline__ void rescale(const float (&largest)[kRowTiles][2]) {
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float max = fmaxf(max_[i][half], largest[i][half]);
        const float factor = max == -INFINITY ? 1.0f : fast_exp2(max_[i][half] - max);
        max_[i][half] = max;
        sum_[i][half] *= factor;
#pragma unroll
        for (int j = 0; j < kColumnTiles; ++j) {
          sums_[i][j].x[2 * half] *= factor;
          sums_[i][j].x[2 * half + 1] *= factor;
        }
      }
    }
  }

  MmaSums<float> sums_[kRowTiles][kColumnTiles];
  float max_[kRowTiles][2];  // row maxima of s·scale_log2; minus infinity before the first key
  float sum_[kRowTiles][2];  // this lane's partial sums of the rows
};

constexpr int kQueries = 128;  // queries per block, divided equally among its four warps

// Keys per tile, so few that scores and accumulators fit in a thread's registers.
template <int kDim>
constexpr int kTileKeys = kDim == 64 ? 128 : 64;

template <class In, int kDim>
using TileWarp = WarpAttention<In, kDim, kQueries / (16 * kWarps), kTileKeys<kDim>>;

template <int kDim>
constexpr int kTileBytes = (kQueries + 2 * kTileKeys<kDim>)*RowTile<kDim>::kPitch;

inline std::int64_t tile_bytes(const Problem& p) {
  return p.head_dim == 64 ? kTileBytes<64> : p.head_dim == 96 ? kTileBytes<96> : kTileBytes<128>;
}

// The tiles of keys, `first` to `end` - 1, that a block of queries processes from last to first;
// all tiles unless `skips`. In a tile for which is_whole() is true, every query of the block
// attends to every key.
template <int kKeys>
struct TileRange {
  int first;
  int end;
  int first_full;
  int end_full;
  __device__ TileRange(const AttendedKeys& allowed, int query, bool skips) {
    const int last = min(query + kQueries, allowed.queries) - 1;
    first = skips ? allowed.first(query) / kKeys : 0;
    end = ((skips ? allowed.end(last) : allowed.keys) + kKeys - 1) / kKeys;
    first_full = (allowed.first(last) + kKeys - 1) / kKeys;
    end_full = allowed.end(query) / kKeys;
  }
  __device__ bool is_whole(int tile) const { return tile >= first_full && tile < end_full; }
};

}  // namespace gpuexp::attention
