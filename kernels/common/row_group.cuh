// The threads that share a row of a matrix: a warp, a block, or a cluster of blocks; and what they
// find out of it together, such as its maximum.
//
// A group says which row is its own, which of its `threads` a thread is, and combines a value of
// each of them to one that all of them get.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/common/cluster.cuh"
#include "kernels/common/launch.cuh"

namespace gpuexp {

constexpr int kMostRowThreads = 1024;
constexpr int kMostClusterThreads = kMostClusterBlocks * kMostRowThreads;
constexpr int kMostRowWarps = kMostRowThreads / kWarp;

constexpr float kLog2E = 1.44269504f;

/// 2^x by one instruction of the special function unit. Results below 2^-126 are 0.
__device__ __forceinline__ float fast_exp2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
/// e^x likewise, with the multiplication in front of it.
__device__ __forceinline__ float fast_exp(float x) {
  return fast_exp2(x * kLog2E);
}
/// Beyond this, e^-x is 0.
constexpr double kExpRange = 88;
/// |error| / e^(a - b), for differences up to `range` whose rounding counts as well: it, log2(e)
/// and the product of both are rounded once each, which moves the exponent by its share of u; and
/// ex2.approx is within 2^-22 (PTX ISA).
constexpr double fast_exp_error(double range) {
  return 3 * 0x1p-24 * (range < kExpRange ? range : kExpRange) + 0x1p-22;
}

/// What of a row without elements is the maximum: finite, so that differences are no NaN.
constexpr float kLeast = -FLT_MAX;

/// The largest of some numbers, and Σ e^(x - max) over them: one access of shared memory.
struct alignas(8) MaxSum {
  float max;
  float sum;
};

struct Larger {
  __device__ static float none() { return kLeast; }
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Sum {
  __device__ static float none() { return 0.0f; }
  __device__ float operator()(float a, float b) const { return a + b; }
};
/// Two sums that are found together: one access of shared memory.
struct alignas(8) TwoSums {
  float a;
  float b;
};
struct BothSums {
  __device__ static TwoSums none() { return {0.0f, 0.0f}; }
  __device__ TwoSums operator()(TwoSums x, TwoSums y) const { return {x.a + y.a, x.b + y.b}; }
};
struct Joined {
  __device__ static MaxSum none() { return {kLeast, 0.0f}; }
  __device__ MaxSum operator()(MaxSum a, MaxSum b) const {
    const float max = fmaxf(a.max, b.max);
    return {max, a.sum * fast_exp(a.max - max) + b.sum * fast_exp(b.max - max)};
  }
};

/// Additions in a row behind any term of a sum of `columns`: where a warp has a row, of a lane's
/// terms and of five shuffles; of a block's warps, and of a cluster's blocks.
constexpr std::int64_t row_additions(std::int64_t columns) {
  return ceil_div(columns, kWarp) + 5 + 5 + 3;
}
/// The relative error of Σ e^(x - max), found by any of the ways here. Terms are positive: each
/// addition on their way may cost them a roundoff (Higham, Accuracy and Stability of Numerical
/// Algorithms, 2nd ed., section 4.2). Online, a block's threads multiply by an exponential as often
/// as they add, whose exponents add up to the range.
constexpr double max_sum_error(std::int64_t columns, double range) {
  constexpr int kOnlineThreads = 256;
  const auto added = static_cast<double>(row_additions(columns));
  const auto raised = static_cast<double>(ceil_div(columns, kOnlineThreads) + 5 + 5 + 3);
  return 0x1p-24 * added + (0x1p-22 + 0x1p-24) * raised + 2 * fast_exp_error(range);
}

/// The RMS of the same: roundings of partial sums that grow evenly, and what is lost in the mean,
/// 0.36 of an ulp of the sum for each factor of e that terms are spread over, where most of them
/// are far below the sum: those below half an ulp are lost, and those above it do not make up for
/// it. (Of terms whose logarithm is spread evenly, ∫ (round(t) - t) dt/t = -0.36.)
inline double max_sum_rms(std::int64_t columns, double range) {
  constexpr double kLost = 0.36, kNarrow = 8;  // less than e^8 apart, terms are not lost
  const auto added = static_cast<double>(row_additions(columns));
  const double lost = kLost * added * 0x1p-24 / (range > kNarrow ? range : kNarrow);
  return rounding_rms(DataType::fp32) * std::sqrt(added / 3) + lost;
}

__device__ __forceinline__ float of_lane(float v, int other) {
  return __shfl_xor_sync(0xffffffffu, v, other);
}
__device__ __forceinline__ MaxSum of_lane(MaxSum v, int other) {
  return {of_lane(v.max, other), of_lane(v.sum, other)};
}

__device__ __forceinline__ TwoSums of_lane(TwoSums v, int other) {
  return {of_lane(v.a, other), of_lane(v.b, other)};
}

/// Of kLanes neighbouring lanes, a power of two, in as many steps as its logarithm.
template <int kLanes, class T, class Operation>
__device__ __forceinline__ T of_lanes(T v, Operation operation) {
#pragma unroll
  for (int other = kLanes / 2; other > 0; other /= 2)
    v = operation(v, of_lane(v, other));
  return v;
}

/// kLanes lanes of a warp have a row, and a block as many rows as there is room for: threadIdx.y is
/// the row's place in it. All lanes of a warp go on together, those without a row as well.
template <int kLanes>
struct LaneRow {
  static constexpr int kRows = 256 / kLanes;  // of a block
  static Shape shape(std::int64_t rows, std::int64_t columns) {
    return shape_of_blocks({ceil_div(rows, kRows)}, {kLanes, kRows}, {kRows * columns});
  }
  std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kRows + threadIdx.y;
  int thread = threadIdx.x;
  int threads = kLanes;
  template <int kSlot, class T, class Operation>
  __device__ T all(T v, Operation operation) const {
    return of_lanes<kLanes>(v, operation);
  }
  __device__ void leave() const {}
};
using WarpRow = LaneRow<kWarp>;

/// A block has a row.
struct BlockRow {
  static Shape shape(std::int64_t rows, std::int64_t columns, int threads) {
    return shape_of_blocks({rows}, {threads}, {columns});
  }
  static constexpr int rank = 0, blocks = 1;
  std::int64_t row = blockIdx.x;
  int thread = threadIdx.x;
  int threads = blockDim.x;
  /// Each warp leaves what it found in shared memory and reads what the others did: one barrier.
  /// Each call in a kernel has a slot of its own, so that none overwrites what another one reads.
  template <int kSlot, class T, class Operation>
  __device__ T all(T v, Operation operation) const {
    __shared__ T of_warps[kMostRowWarps];
    const int lane = thread % kWarp;
    v = of_lanes<kWarp>(v, operation);
    if (lane == 0) of_warps[thread / kWarp] = v;
    __syncthreads();
    return of_lanes<kWarp>(lane < threads / kWarp ? of_warps[lane] : Operation::none(), operation);
  }
  /// Before the same slot is written again, all have read it.
  __device__ void again() const { __syncthreads(); }
  __device__ void leave() const {}
};

/// A cluster of up to eight blocks has a row.
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
  /// Blocks read from each other's shared memory what they found, and a warp combines it.
  template <int kSlot, class T, class Operation>
  __device__ T all(T v, Operation operation) const {
    __shared__ T of_block;
    static_assert(sizeof(T) % sizeof(unsigned) == 0, "words are read");
    BlockRow block;
    v = block.template all<kSlot>(v, operation);
    if (threadIdx.x == 0) of_block = v;
    sync_cluster();
    const int lane = threadIdx.x % kWarp;
    v = Operation::none();
    if (lane < blocks) {
      const unsigned from =
          mapped_shared(static_cast<unsigned>(__cvta_generic_to_shared(&of_block)), lane);
      unsigned words[sizeof(T) / sizeof(unsigned)];
#pragma unroll
      for (unsigned i = 0; i < sizeof words / sizeof *words; ++i)
        words[i] = load_cluster_shared(from + i * sizeof *words);
      memcpy(&v, words, sizeof v);
    }
    return of_lanes<kWarp>(v, operation);
  }
  __device__ void again() const {
    sync_cluster();
  }
  /// A block's shared memory is there for as long as the block is.
  __device__ void leave() const {
    sync_cluster();
  }
};

}  // namespace gpuexp
