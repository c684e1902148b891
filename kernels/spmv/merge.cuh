// The merge path of spmv: nonzeros and row ends merged into one list and divided into equal shares.
#pragma once

#include "kernels/spmv/csr.cuh"

namespace gpuexp::spmv {

constexpr int kPart = 15;  // list elements per thread
constexpr int kRoundRows = 2 * kBlock;
constexpr int kRoundNonzeros = kPart * kBlock - kRoundRows;
constexpr int kMergeBlocksPerSm = 6;
constexpr int kNever = 0x7fffffff;

// A position in the list: the numbers of row ends and of nonzeros before it.
struct MergePlace {
  int rows;
  int nonzeros;
};

// Returns the number of row ends among the first `place` elements of a list, by binary search in
// [low, high].
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

// Searches `place` in the whole list with all lanes of a warp. Each step divides the range into 32
// parts instead of two, so a fifth as many loads depend on each other.
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

// The sum after the last row end of a part of the list, and whether the part has a row end.
struct OpenSum {
  int ended;
  float sum;
};
__device__ __forceinline__ OpenSum joined(OpenSum before, OpenSum after) {
  return {before.ended | after.ended, after.ended != 0 ? after.sum : before.sum + after.sum};
}

// Scans the threads' open sums; all threads of the block must call it. Returns the open sum before
// this thread's part. `all` is the open sum before the block's round on entry, and after the round
// on return.
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

// The row that is unfinished at the end of a block's share, and the block's partial sum of this
// row.
struct Carry {
  std::int32_t row;
  float sum;
};

// The part of the list that a block holds in shared memory for one round.
struct MergeRound {
  int ends[kRoundRows + 1];  // row ends, relative to the round's first nonzero
  float products[kRoundNonzeros];
  float sums[kRoundRows];  // sums of the rows that end in the round
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
    // Count the rows and nonzeros that belong to this round, among those that fit into the arrays.
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
      // Branch-free, because lanes of a warp reach row ends in different iterations.
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

// Adds the blocks' partial sums to the rows that later blocks have finished. The thread of the
// first block with a partial sum of a row adds the sums of all blocks of this row.
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
