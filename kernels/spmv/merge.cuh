// The merge path of spmv: nonzeros and ends of rows as one list, in equal shares.
#pragma once

#include "kernels/spmv/csr.cuh"

namespace gpuexp::spmv {

constexpr int kPart = 15;  // of the list, per thread
constexpr int kRoundRows = 2 * kBlock;
constexpr int kRoundNonzeros = kPart * kBlock - kRoundRows;
constexpr int kMergeBlocksPerSm = 6;
constexpr int kNever = 0x7fffffff;

// A place in the list: so many ends of rows and so many nonzeros before it.
struct MergePlace {
  int rows;
  int nonzeros;
};

// Ends of rows among the first `place` elements of a list, where those of rows [low, high] are.
__device__ __forceinline__ int rows_before(const int* ends, int place, int low, int high) {
  while (low < high) {
    const int middle = (low + high) / 2;
    if (ends[middle] <= place - middle - 1) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The same by the lanes of a warp, in 32 parts at a time: a fifth of the loads that wait for each
// other.
__device__ __forceinline__ MergePlace place_in_list(const Csr& m, std::int64_t place) {
  const int lane = threadIdx.x % kWarp;
  std::int64_t low = max(place - m.nonzeros, std::int64_t{0});
  std::int64_t high = min(place, static_cast<std::int64_t>(m.rows));
  while (low < high) {
    const std::int64_t step = (high - low + kWarp - 1) / kWarp;
    const std::int64_t row = low + (lane + 1) * step - 1;
    const bool is_before = row < high && m.offsets[row + 1] <= place - row - 1;
    low += __popc(__ballot_sync(kAllLanes, is_before)) * step;
    high = min(high, low + step - 1);
  }
  return {static_cast<int>(low), static_cast<int>(place - low)};
}

// A sum that goes on, and whether a row has ended in it.
struct OpenSum {
  int ended;
  float sum;
};
__device__ __forceinline__ OpenSum joined(OpenSum before, OpenSum after) {
  return {before.ended | after.ended, after.ended != 0 ? after.sum : before.sum + after.sum};
}

// By all threads: what those before this one leave open, and in `all` what all of them do. `all` is
// what the block had left open.
__device__ __forceinline__ float open_before(OpenSum mine, float& all) {
  __shared__ OpenSum of_warps[kWarps];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
#pragma unroll
  for (int step = 1; step < kWarp; step *= 2) {
    const OpenSum before{__shfl_up_sync(kAllLanes, mine.ended, step),
                         __shfl_up_sync(kAllLanes, mine.sum, step)};
    if (lane >= step) mine = joined(before, mine);
  }
  if (lane == kWarp - 1) of_warps[warp] = mine;
  OpenSum before{__shfl_up_sync(kAllLanes, mine.ended, 1), __shfl_up_sync(kAllLanes, mine.sum, 1)};
  if (lane == 0) before = {0, 0.0f};
  __syncthreads();
  OpenSum sum{0, all};
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    if (w == warp) before = joined(sum, before);
    sum = joined(sum, of_warps[w]);
  }
  all = sum.sum;
  return before.sum;
}

// What a block leaves of the row that goes on.
struct Carry {
  std::int32_t row;
  float sum;
};

// What a block has of the list in shared memory.
struct MergeRound {
  int ends[kRoundRows + 1];  // of rows, counted from the round's first nonzero
  float products[kRoundNonzeros];
  float sums[kRoundRows];  // of rows that end in the round
};

__global__ void __launch_bounds__(kBlock, kMergeBlocksPerSm) merge_kernel(Csr m, Carry* carries) {
  __shared__ MergeRound round;
  __shared__ alignas(16) MergePlace of_block[2];
  const std::int64_t all = static_cast<std::int64_t>(m.rows) + m.nonzeros;
  const std::int64_t share = (all + gridDim.x - 1) / gridDim.x;
  const int thread = threadIdx.x;
  if (thread < 2 * kWarp) {
    const int which = thread / kWarp;
    of_block[which] = place_in_list(m, min(all, (blockIdx.x + which) * share));
  }
  __syncthreads();
  MergePlace at = of_block[0];
  const MergePlace end = of_block[1];
  float open = 0.0f;
#pragma unroll 1
  while (at.rows < end.rows || at.nonzeros < end.nonzeros) {
    const int most_rows = min(kRoundRows, end.rows - at.rows);
    const int most_nonzeros = min(kRoundNonzeros, end.nonzeros - at.nonzeros);
#pragma unroll
    for (int row = thread; row < kRoundRows + thread; row += kBlock)
      round.ends[row] = row < most_rows ? m.offsets[at.rows + row + 1] - at.nonzeros : kNever;
    if (thread == 0) round.ends[kRoundRows] = kNever;
    const Csr from_here{nullptr, m.columns + at.nonzeros, m.values + at.nonzeros, m.x};
#pragma unroll
    for (int i = thread; i < kRoundNonzeros + thread; i += kBlock)
      if (i < most_nonzeros) round.products[i] = from_here.product(i);
    // Of rows and nonzeros that have room, those that belong to this round.
    __syncthreads();
    int rows = 0;
#pragma unroll
    for (int row = thread; row < kRoundRows + thread; row += kBlock)
      rows += __syncthreads_count(round.ends[row] <= most_nonzeros);
    const int nonzeros = rows < kRoundRows ? most_nonzeros : round.ends[rows - 1];

    const int place = min(thread * kPart, rows + nonzeros);
    const int left = rows + nonzeros - place;
    const int first_row =
        rows_before(round.ends, place, max(place - nonzeros, 0), min(place, rows));
    int row = first_row;
    int nonzero = place - row;
    int row_end = round.ends[row];
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < kPart; ++i) {
      // Without branches: lanes of a warp end rows at different turns.
      const bool ends_row = i < left && nonzero >= row_end;
      const bool adds = i < left && nonzero < row_end;
      if (adds) sum += round.products[nonzero];
      if (ends_row) round.sums[row] = sum;
      if (ends_row) row_end = round.ends[row + 1];
      sum = ends_row ? 0.0f : sum;
      nonzero += adds ? 1 : 0;
      row += ends_row ? 1 : 0;
    }
    const float before = open_before({row > first_row, sum}, open);
    if (row > first_row) round.sums[first_row] += before;
    __syncthreads();
#pragma unroll
    for (int i = thread; i < kRoundRows + thread; i += kBlock)
      if (i < rows) m.y[at.rows + i] = round.sums[i];
    at = {at.rows + rows, at.nonzeros + nonzeros};
  }
  if (thread == 0) carries[blockIdx.x] = {at.rows, open};
}

// Adds what blocks have left to the rows that later ones have ended: the first block of a row those
// of all of them.
__global__ void __launch_bounds__(kBlock) carry_kernel(Csr m, const Carry* carries, int blocks) {
  for (int b = threadIdx.x; b < blocks; b += kBlock) {
    const int row = carries[b].row;
    if (row == m.rows || (b > 0 && carries[b - 1].row == row)) continue;
    float sum = 0.0f;
    for (int next = b; next < blocks && carries[next].row == row; ++next)
      sum += carries[next].sum;
    m.y[row] += sum;
  }
}

}  // namespace gpuexp::spmv
