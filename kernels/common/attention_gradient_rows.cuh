// Kernels before and after the products of attention's backward pass. The first kernel computes two
// values per row of scores. The last kernel rounds the sums of dQ that blocks have accumulated in
// memory.
#pragma once

#include "kernels/common/attention_gradient.cuh"
#include "kernels/common/attention_gradient_inputs.cuh"
#include "kernels/common/launch.cuh"

namespace gpuexp::attention {

constexpr int kRowBlock = 256;

/// Computes log₂ Σ e^s and Σ dO·O, with one warp per row of the padded tiles. Padding rows get
/// infinity and 0.
template <class In>
__global__ void __launch_bounds__(kRowBlock)
    rows_kernel(Heads heads, const In* o, const In* d_o, const float* log_sum, float* log_sum2,
                float* delta, std::int64_t rows, int dim) {
  const std::int64_t padded =
      static_cast<std::int64_t>(blockIdx.x) * (kRowBlock / 32) + threadIdx.x / 32;
  if (padded >= rows) return;
  const int queries = heads.allowed.queries;
  const std::int64_t head = padded / padded_rows(queries);
  const auto query = static_cast<int>(padded % padded_rows(queries));
  const std::int64_t row = heads.first_query(head) + query;
  const int lane = threadIdx.x % 32;
  float sum = 0.0f;
  for (int i = 2 * lane; query < queries && i < dim; i += 64) {
    const float2 a = widen(load_pack<2>(o + row * dim + i).pairs[0]);
    const float2 b = widen(load_pack<2>(d_o + row * dim + i).pairs[0]);
    sum += a.x * b.x + a.y * b.y;
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (lane != 0) return;
  const float of_row = query < queries ? log_sum[row] : -INFINITY;
  log_sum2[padded] = of_row == -INFINITY ? INFINITY : of_row * kLog2E;
  delta[padded] = sum;
}

/// Scales the fp32 sums of dQ (TileGradient) and rounds them to In. A thread stores four elements
/// of a fragment.
template <class In, int kDim>
__global__ void __launch_bounds__(kRowBlock)
    round_kernel(Heads heads, const float* sums, In* dq, std::int64_t fragments) {
  const std::int64_t fragment =
      (static_cast<std::int64_t>(blockIdx.x) * kRowBlock + threadIdx.x) / 32;
  if (fragment >= fragments) return;
  constexpr int kFragments = TileGradient<In, kDim>::kFragments;
  const int queries = heads.allowed.queries;
  const std::int64_t tile = fragment / kFragments;
  const auto in_tile = static_cast<int>(fragment % kFragments);
  const std::int64_t tiles = padded_rows(queries) / kTileQueries;
  const auto query = static_cast<int>(tile % tiles) * kTileQueries + in_tile / (kDim / 8) * 16;
  const int column = in_tile % (kDim / 8) * 8 + accumulator_column(0, 0);
  const float4 x = reinterpret_cast<const float4*>(sums)[fragment * 32 + threadIdx.x % 32];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = query + accumulator_row(0, half);
    if (row >= queries) continue;
    *reinterpret_cast<unsigned*>(dq + (heads.first_query(tile / tiles) + row) * kDim + column) =
        round_to_pair<In>(heads.scale * (half == 0 ? x.x : x.z),
                          heads.scale * (half == 0 ? x.y : x.w));
  }
}

/// Workspace of a variant: two values per row, then memory that only this variant uses.
struct RowWorkspace {
  float* log_sum2;
  float* delta;
  void* own;
};

inline std::int64_t padded_rows_of(const Problem& p) {
  return p.batch * p.heads * padded_rows(p.queries);
}
inline std::int64_t row_bytes(const Problem& p) {
  return 2 * padded_rows_of(p) * static_cast<std::int64_t>(sizeof(float));
}
inline RowWorkspace row_workspace(const Problem& p, void* workspace) {
  float* const rows = static_cast<float*>(workspace);
  return {rows, rows + padded_rows_of(p), rows + 2 * padded_rows_of(p)};
}

/// Grid of `blocks` blocks of `threads` threads, among which the problem's rows are divided
/// evenly.
inline Shape shape_of(const Problem& p, std::int64_t threads, const Extent& blocks,
                      std::int64_t shared) {
  return shape_of_shares(blocks, {p.queries, p.batch * p.heads}, threads, shared);
}

template <class In>
Steps launch_rows(const Problem& p, const In* o, const In* d_o, const float* log_sum,
                  const RowWorkspace& at) {
  const std::int64_t rows = padded_rows_of(p);
  return launch(rows_kernel<In>, shape_of(p, kRowBlock, {ceil_div(rows, kRowBlock / 32), 1, 1}, 0),
                heads_of(p), o, d_o, log_sum, at.log_sum2, at.delta, rows, p.head_dim);
}

inline std::int64_t sum_bytes(const Problem& p) {
  return padded_rows_of(p) * p.head_dim * static_cast<std::int64_t>(sizeof(float));
}

inline std::int64_t no_bytes(const Problem&) {
  return 0;
}
inline std::int64_t matrix_bytes(const Problem& p) {
  return p.rows() * stored_pitch(p) * static_cast<std::int64_t>(size_of(p.dtype));
}

/// Sets a variant's workspace and its metric peak_bytes. own(problem) is the size of workspace
/// that only this variant uses; kept(problem) is the size of data that the forward pass stores
/// for it. peak_bytes also includes operands, gradients and values per row.
template <class Variant>
void set_workspace(Variant& v, std::int64_t (*own)(const Problem&),
                   std::int64_t (*kept)(const Problem&)) {
  v.workspace_bytes = [own](const Problem& p, const DeviceSpec&) { return row_bytes(p) + own(p); };
  v.metrics = [own, kept](const Problem& p, const DeviceSpec&) -> MetricValues {
    const std::int64_t matrices =
        4 * (p.query_elements() + p.key_elements()) * static_cast<std::int64_t>(size_of(p.dtype));
    const std::int64_t log_sums = p.rows() * static_cast<std::int64_t>(sizeof(float));
    return {
        {"peak_bytes", static_cast<double>(matrices + log_sums + row_bytes(p) + own(p) + kept(p))}};
  };
}

template <class In, int kDim>
Steps launch_round_dq(const Problem& p, const float* sums, In* dq) {
  const std::int64_t fragments =
      padded_rows_of(p) / kTileQueries * TileGradient<In, kDim>::kFragments;
  return launch(round_kernel<In, kDim>,
                shape_of(p, kRowBlock, {ceil_div(fragments, kRowBlock / 32), 1, 1}, 0), heads_of(p),
                sums, dq, fragments);
}

}  // namespace gpuexp::attention
