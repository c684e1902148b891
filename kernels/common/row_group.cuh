// Groups of threads that share a row of a matrix: lanes of a warp, a block, or a cluster of
// blocks. A group has the index of its row, its number of threads, this thread's index in the
// group, and all_reduce(), which reduces one value per thread and returns the result to all
// threads.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/common/cluster.cuh"
#include "kernels/common/launch.cuh"

namespace gpuexp {

constexpr int kMaxRowThreads = 1024;
constexpr int kMaxClusterThreads = kMaxClusterBlocks * kMaxRowThreads;
constexpr int kMaxRowWarps = kMaxRowThreads / kWarp;

constexpr float kLog2E = 1.44269504f;

/// 2^x by one instruction of the special function unit. Results below 2^-126 become 0.
__device__ __forceinline__ float fast_exp2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
__device__ __forceinline__ float fast_exp(float x) {
  return fast_exp2(x * kLog2E);
}
/// fast_exp(-x) is 0 for x above this value.
constexpr double kExpRange = 88;
/// Bound on the relative error of fast_exp(a - b), for differences of at most `range`. The
/// difference, log2(e) and their product are each rounded once; each rounding changes the
/// exponent by at most 2^-24 of its value. ex2.approx has a relative error of at most 2^-22 (PTX
/// ISA).
constexpr double fast_exp_error(double range) {
  return 3 * 0x1p-24 * (range < kExpRange ? range : kExpRange) + 0x1p-22;
}

/// The maximum of an empty row: finite, so that the difference of two maxima is not NaN.
constexpr float kLowestFloat = -FLT_MAX;

/// A maximum and Σ e^(x - max), transferred by one shared memory access.
struct alignas(8) MaxSum {
  float max;
  float sum;
};

struct Larger {
  __device__ static float identity() { return kLowestFloat; }
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Sum {
  __device__ static float identity() { return 0.0f; }
  __device__ float operator()(float a, float b) const { return a + b; }
};
/// Two sums that one reduction computes, transferred by one shared memory access.
struct alignas(8) TwoSums {
  float a;
  float b;
};
struct SumPairs {
  __device__ static TwoSums identity() { return {0.0f, 0.0f}; }
  __device__ TwoSums operator()(TwoSums x, TwoSums y) const { return {x.a + y.a, x.b + y.b}; }
};
struct MergeMaxSum {
  __device__ static MaxSum identity() { return {kLowestFloat, 0.0f}; }
  __device__ MaxSum operator()(MaxSum a, MaxSum b) const {
    const float max = fmaxf(a.max, b.max);
    return {max, a.sum * fast_exp(a.max - max) + b.sum * fast_exp(b.max - max)};
  }
};

/// Maximum number of successive additions that a term of a row's sum passes through. A lane adds
/// its terms: columns / 32 terms if a warp has the row. Five shuffle steps combine the lanes of a
/// warp, five the warps of a block, and three the blocks of a cluster.
constexpr std::int64_t row_additions(std::int64_t columns) {
  return ceil_div(columns, kWarp) + 5 + 5 + 3;
}
/// Bound on the relative error of Σ e^(x - max), for every group and method. Terms are positive,
/// so each addition that a term passes through contributes at most one unit roundoff (Higham,
/// Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.2). The online method, in
/// blocks of 256 threads, also multiplies the sum by an exponential at each addition;
/// the exponents total at most `range`.
constexpr double max_sum_error(std::int64_t columns, double range) {
  constexpr int kOnlineThreads = 256;
  const auto added = static_cast<double>(row_additions(columns));
  const auto rescaled = static_cast<double>(ceil_div(columns, kOnlineThreads) + 5 + 5 + 3);
  return 0x1p-24 * added + (0x1p-22 + 0x1p-24) * rescaled + 2 * fast_exp_error(range);
}

/// RMS relative error of Σ e^(x - max). The first term is the rounding error of partial sums that
/// grow evenly. The second term is a bias, because most terms are far smaller than the sum:
/// additions lose terms below half an ulp of the sum, and the rounding of larger terms does not
/// compensate for this loss. If the logarithms of the terms t, in ulps, are uniformly
/// distributed, ∫ (round(t) - t) dt/t = -0.36. The bias is therefore 0.36 ulp times the number of
/// additions per factor of e in the range.
inline double max_sum_rms(std::int64_t columns, double range) {
  constexpr double kLost = 0.36, kNarrow = 8;  // ranges below 8 have the bias of range 8
  const auto added = static_cast<double>(row_additions(columns));
  const double lost = kLost * added * 0x1p-24 / (range > kNarrow ? range : kNarrow);
  return rounding_rms(DataType::fp32) * std::sqrt(added / 3) + lost;
}

__device__ __forceinline__ float shuffle_xor(float v, int other) {
  return __shfl_xor_sync(0xffffffffu, v, other);
}
__device__ __forceinline__ MaxSum shuffle_xor(MaxSum v, int other) {
  return {shuffle_xor(v.max, other), shuffle_xor(v.sum, other)};
}

__device__ __forceinline__ TwoSums shuffle_xor(TwoSums v, int other) {
  return {shuffle_xor(v.a, other), shuffle_xor(v.b, other)};
}

/// Reduces `v` over kLanes neighbouring lanes, a power of two, in log2(kLanes) shuffle steps. All
/// kLanes lanes get the result.
template <int kLanes, class T, class Operation>
__device__ __forceinline__ T reduce_lanes(T v, Operation operation) {
#pragma unroll
  for (int other = kLanes / 2; other > 0; other /= 2)
    v = operation(v, shuffle_xor(v, other));
  return v;
}

/// kLanes lanes of a warp share a row. A block of 256 threads has 256 / kLanes rows, and
/// threadIdx.y is the row's index in the block. Lanes without a row must also call all_reduce(),
/// because its shuffles include all lanes of the warp.
template <int kLanes>
struct LaneRow {
  static constexpr int kRows = 256 / kLanes;
  static Shape shape(std::int64_t rows, std::int64_t columns) {
    return shape_of_blocks({ceil_div(rows, kRows)}, {kLanes, kRows}, {kRows * columns});
  }
  std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kRows + threadIdx.y;
  int thread = threadIdx.x;
  int threads = kLanes;
  template <int kSlot, class T, class Operation>
  __device__ T all_reduce(T v, Operation operation) const {
    return reduce_lanes<kLanes>(v, operation);
  }
  __device__ void sync_before_exit() const {}
};
using WarpRow = LaneRow<kWarp>;

struct BlockRow {
  static Shape shape(std::int64_t rows, std::int64_t columns, int threads) {
    return shape_of_blocks({rows}, {threads}, {columns});
  }
  static constexpr int rank = 0, blocks = 1;
  std::int64_t row = blockIdx.x;
  int thread = threadIdx.x;
  int threads = blockDim.x;
  /// Reduces `v` over the block with one barrier. Each warp stores its result in shared memory,
  /// and then every warp combines the results of all warps. Each call in a kernel needs another
  /// kSlot, because threads may still read the values of the previous call.
  template <int kSlot, class T, class Operation>
  __device__ T all_reduce(T v, Operation operation) const {
    __shared__ T of_warps[kMaxRowWarps];
    const int lane = thread % kWarp;
    v = reduce_lanes<kWarp>(v, operation);
    if (lane == 0) of_warps[thread / kWarp] = v;
    __syncthreads();
    return reduce_lanes<kWarp>(lane < threads / kWarp ? of_warps[lane] : Operation::identity(),
                               operation);
  }
  /// Waits until all threads have read a slot. Required before another call uses the same slot.
  __device__ void sync_before_reuse() const { __syncthreads(); }
  __device__ void sync_before_exit() const {}
};

struct ClusterRow {
  static Shape shape(std::int64_t rows, std::int64_t columns, int threads, int blocks) {
    Shape s = shape_of_blocks({rows * blocks}, {threads}, {ceil_div(columns, blocks)});
    s.cluster = {blocks, 1, 1};
    return s;
  }
  int rank = static_cast<int>(cluster_rank());
  int blocks = static_cast<int>(cluster_blocks());
  std::int64_t row = blockIdx.x / blocks;
  int thread = rank * blockDim.x + threadIdx.x;
  int threads = blocks * blockDim.x;
  /// Reduces `v` over the cluster: each block stores its result in its shared memory, and every
  /// warp loads and combines the results of all blocks.
  template <int kSlot, class T, class Operation>
  __device__ T all_reduce(T v, Operation operation) const {
    __shared__ T of_block;
    static_assert(sizeof(T) % sizeof(unsigned) == 0, "the value must be whole 4-byte words");
    BlockRow block;
    v = block.template all_reduce<kSlot>(v, operation);
    if (threadIdx.x == 0) of_block = v;
    sync_cluster();
    const int lane = threadIdx.x % kWarp;
    v = Operation::identity();
    if (lane < blocks) {
      const unsigned from =
          map_shared_rank(static_cast<unsigned>(__cvta_generic_to_shared(&of_block)), lane);
      unsigned words[sizeof(T) / sizeof(unsigned)];
#pragma unroll
      for (unsigned i = 0; i < sizeof words / sizeof *words; ++i)
        words[i] = load_cluster_shared(from + i * sizeof *words);
      memcpy(&v, words, sizeof v);
    }
    return reduce_lanes<kWarp>(v, operation);
  }
  __device__ void sync_before_reuse() const {
    sync_cluster();
  }
  /// Waits for all blocks of the cluster, because the shared memory of a block that has exited is
  /// invalid.
  __device__ void sync_before_exit() const {
    sync_cluster();
  }
};

}  // namespace gpuexp
