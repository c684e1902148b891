// Attention's backward pass in fp32 with scalar multiply-adds, because tensor cores would round
// fp32 operands. As in attention_backward/two_pass, one kernel computes the gradients of queries,
// and another kernel computes the gradients of keys and values. No sum is accumulated in global
// memory.
#pragma once

#include "kernels/common/attention_gradient_rows.cuh"

namespace gpuexp::attention {

constexpr int kGradientBlock = 128;
constexpr int kGradientLanes = 4;
constexpr int kGradientRows = kGradientBlock / kGradientLanes;

/// A lane's elements of a row of a head: 4 of every 16 floats. The lanes of a row interleave.
template <int kDim>
struct LanePart {
  static constexpr int kParts = kDim / (4 * kGradientLanes);
  float4 v[kParts];
  __device__ static int place(int lane, int part) { return 4 * (lane + part * kGradientLanes); }

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < kParts; ++i)
      v[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }
  __device__ void load(const float* row, int lane) {
#pragma unroll
    for (int i = 0; i < kParts; ++i)
      v[i] = *reinterpret_cast<const float4*>(row + place(lane, i));
  }
  __device__ float dot(const LanePart& other) const {
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      const float4 a = v[i], b = other.v[i];
      sum = fmaf(a.x, b.x, fmaf(a.y, b.y, fmaf(a.z, b.z, fmaf(a.w, b.w, sum))));
    }
    return reduce_lanes<kGradientLanes>(sum, Sum());
  }
  __device__ void add(float factor, const LanePart& other) {
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      const float4 b = other.v[i];
      v[i] = make_float4(fmaf(factor, b.x, v[i].x), fmaf(factor, b.y, v[i].y),
                         fmaf(factor, b.z, v[i].z), fmaf(factor, b.w, v[i].w));
    }
  }
  __device__ void store(float* row, int lane, float factor) const {
#pragma unroll
    for (int i = 0; i < kParts; ++i)
      *reinterpret_cast<float4*>(row + place(lane, i)) =
          make_float4(factor * v[i].x, factor * v[i].y, factor * v[i].z, factor * v[i].w);
  }
};

/// A block computes the gradients of 32 rows of a head, with four lanes per row. Its threads
/// share tiles of 32 rows of the other operand. If kRowsAreKeys is false, the block's rows are
/// queries: it keeps Q and dO, loads K and V, and stores dQ to `first`. Otherwise its rows are
/// keys: it keeps K and V, loads Q and dO, and stores dK to `first` and dV to `second`.
template <bool kRowsAreKeys, int kDim>
__global__ void __launch_bounds__(kGradientBlock)
    scalar_gradient_kernel(Heads heads, GradientOperands<float> x, float* first, float* second) {
  using Part = LanePart<kDim>;
  __shared__ float4 a_tile[kGradientRows][kDim / 4];  // for the scores: K, or Q if kRowsAreKeys
  __shared__ float4 b_tile[kGradientRows][kDim / 4];  // for dO·V: V, or dO if kRowsAreKeys
  __shared__ float2 row_tile[kGradientRows];          // per query: log₂ Σ e^s and Σ dO·O
  const AttendedKeys& allowed = heads.allowed;
  const std::int64_t head = blockIdx.y;
  const int lane = threadIdx.x % kGradientLanes;
  const int begin = blockIdx.x * kGradientRows;
  const int own = begin + threadIdx.x / kGradientLanes;
  const int others = kRowsAreKeys ? allowed.queries : allowed.keys;
  const bool in_bounds = own < (kRowsAreKeys ? allowed.keys : allowed.queries);
  const std::int64_t query_row = heads.first_query(head), key_row = heads.first_key(head);
  const std::int64_t padded = head * padded_rows(allowed.queries);
  const auto row_values = [&](int query) {
    return make_float2(x.log_sum2[padded + query], x.delta[padded + query]);
  };
  const std::int64_t row = (kRowsAreKeys ? key_row : query_row) + (in_bounds ? own : 0);
  Part a, b, first_sum, second_sum;
  a.load((kRowsAreKeys ? x.x.k : x.x.q) + row * kDim, lane);
  b.load((kRowsAreKeys ? x.x.v : x.d_o) + row * kDim, lane);
  first_sum.clear();
  second_sum.clear();
  const float2 own_values = kRowsAreKeys ? float2{} : row_values(in_bounds ? own : 0);
#pragma unroll 1
  for (int tile = 0; tile < others; tile += kGradientRows) {
    // Skip tiles whose first key is after the last key that the last query attends to.
    const int last_query = min((kRowsAreKeys ? tile : begin) + kGradientRows, allowed.queries) - 1;
    if ((kRowsAreKeys ? begin : tile) >= allowed.end(last_query)) continue;
    __syncthreads();
    for (int i = threadIdx.x; i < kGradientRows * kDim / 4; i += kGradientBlock) {
      const int tile_row = i / (kDim / 4), unit = i % (kDim / 4);
      const std::int64_t from =
          ((kRowsAreKeys ? query_row : key_row) + min(tile + tile_row, others - 1)) * kDim +
          4 * unit;
      a_tile[tile_row][unit] =
          *reinterpret_cast<const float4*>((kRowsAreKeys ? x.x.q : x.x.k) + from);
      b_tile[tile_row][unit] =
          *reinterpret_cast<const float4*>((kRowsAreKeys ? x.d_o : x.x.v) + from);
    }
    if (kRowsAreKeys && threadIdx.x < kGradientRows)
      row_tile[threadIdx.x] = row_values(min(tile + static_cast<int>(threadIdx.x), others - 1));
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < kGradientRows; ++i) {
      const int other = tile + i;
      const int query = kRowsAreKeys ? other : own, key = kRowsAreKeys ? own : other;
      Part of_a, of_b;
#pragma unroll
      for (int part = 0; part < Part::kParts; ++part) {
        of_a.v[part] = a_tile[i][lane + part * kGradientLanes];
        of_b.v[part] = b_tile[i][lane + part * kGradientLanes];
      }
      const float2 values = kRowsAreKeys ? row_tile[i] : own_values;
      const bool is_attended =
          in_bounds && other < others && key >= allowed.first(query) && key < allowed.end(query);
      const float exponent = fmaf(a.dot(of_a), heads.scale * kLog2E, -values.x);
      const float weight = is_attended ? fast_exp2(exponent) : 0.0f;
      const float change = weight * (b.dot(of_b) - values.y);
      first_sum.add(change, of_a);
      if (kRowsAreKeys) second_sum.add(weight, of_b);
    }
  }
  if (!in_bounds) return;
  first_sum.store(first + row * kDim, lane, heads.scale);
  if (kRowsAreKeys) second_sum.store(second + row * kDim, lane, 1.0f);
}

/// Computes dQ, dK and dV without dropout. `workspace` has row_bytes(p) bytes.
template <int kDim>
Steps scalar_gradients(const Problem& p, const Operands<float>& x, const float* o, const float* d_o,
                       const float* log_sum, float* dq, float* dk, float* dv, void* workspace) {
  const RowWorkspace at = row_workspace(p, workspace);
  const GradientOperands<float> operands{x, d_o, at.log_sum2, at.delta};
  const auto shape = [&](std::int64_t rows) {
    return shape_of(p, kGradientBlock, {ceil_div(rows, kGradientRows), p.batch * p.heads, 1}, 0);
  };
  return launch_rows(p, o, d_o, log_sum, at) +
         launch(scalar_gradient_kernel<true, kDim>, shape(p.keys), heads_of(p), operands, dk, dv) +
         launch(scalar_gradient_kernel<false, kDim>, shape(p.queries), heads_of(p), operands, dq,
                nullptr);
}

}  // namespace gpuexp::attention
