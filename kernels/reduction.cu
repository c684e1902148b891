// reduction: the sum of n numbers.
//
// The question: which optimizations let a sum reach memory bandwidth? Mark Harris's seven steps
// (Optimizing Parallel Reduction in CUDA, 2007) optimize the tree within a block for a GPU of 2007.
// The later variants do what current GPUs need: they keep many loads in flight per thread, and use
// few tree steps and few kernels.
//
// fp32 additions round, so the last bits of a sum depend on the order of additions.
#include "kernels/common/launch.cuh"
#include "kernels/common/number_sums.cuh"
#include "kernels/common/ordered_sum.cuh"

namespace gpuexp::reduction {

using namespace number_sums;
using number_sums::Family;
using number_sums::Variant;

// ---- interleaved_divergent: pairs of neighbours, every second thread
//
// A block stores 256 elements to shared memory and sums pairs, then pairs of pairs, in eight steps.
// At stride s, each thread whose index is a multiple of 2s adds the element s places further. The
// active lanes are spread over all warps: in the fifth step each warp still has one active lane,
// and all eight warps execute every step.

template <class T>
__global__ void __launch_bounds__(kBlock) divergent_kernel(Terms<T> x, float* sums) {
  __shared__ float s[kBlock];
  const unsigned me = threadIdx.x;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + me;
  s[me] = i < x.n ? static_cast<float>(x.at[i]) : 0.0f;
  __syncthreads();
#pragma unroll 1
  for (unsigned step = 1; step < blockDim.x; step *= 2) {
    if (me % (2 * step) == 0) s[me] += s[me + step];
    __syncthreads();
  }
  if (me == 0) sums[blockIdx.x] = s[0];
}

// ---- how the variants are launched

// A variant whose blocks sum `tile` elements each. Launches follow until one sum is left.
Variant in_levels(std::string id, std::string compare_to, Kernels kernels, int tile,
                  ExpectedChangesOf<Problem> expected) {
  const auto levels = [tile](const Problem& p) {
    double count = 1;
    for (std::int64_t left = ceil_div(p.n, tile); left > 1; left = ceil_div(left, tile))
      ++count;
    return count;
  };
  Variant v = variant(std::move(id), std::move(compare_to), {tile / kBlock, false}, levels,
                      std::move(expected));
  v.workspace_bytes = [tile](const Problem& p, const DeviceSpec&) {
    // Each level has at most half as many sums as the one before, or one.
    return (2 * ceil_div(p.n, tile) + 1) * std::int64_t{sizeof(float)};
  };
  v.launch = [=](const Problem& p, const Data& d, const LaunchContext& x) {
    auto* to = static_cast<float*>(x.workspace);
    std::int64_t left = ceil_div(p.n, tile);
    Steps steps = launch_sum(kernels, shape_of_blocks(left, kBlock), p, d, left > 1 ? to : d.sum);
    while (left > 1) {
      const Terms<float> sums{to, left};
      to += left;
      left = ceil_div(left, tile);
      steps +=
          launch(kernels.of_floats, shape_of_blocks(left, kBlock), sums, left > 1 ? to : d.sum);
    }
    return steps;
  };
  return v;
}

constexpr auto is_large = at_least(&Problem::n, 1 << 22);  // every resident thread has elements

constexpr auto is_huge = at_least(&Problem::n, 1 << 28);

Variant interleaved_divergent() {
  return in_levels("interleaved_divergent", "", {divergent_kernel, divergent_kernel}, kBlock, {});
}

// ---- interleaved_strided: the same pairs, consecutive threads
//
// Thread t adds pair t, so the active threads of each step are consecutive. A warp without active
// threads skips the addition: warp_instructions decreases. The cost is bank conflicts: at stride s,
// the words of neighbouring lanes are 2s apart, and shared_bank_conflicts increases. At stride s,
// 256/2s threads of the block add, so at most 8 lanes access one bank, at s = 4, 8 and 16.
// shared_load_wavefronts and dram_read_bytes are unchanged.
// held: bank_conflict = 8 at n=4194304

template <class T>
__global__ void __launch_bounds__(kBlock) strided_index_kernel(Terms<T> x, float* sums) {
  __shared__ float s[kBlock];
  const unsigned me = threadIdx.x;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + me;
  s[me] = i < x.n ? static_cast<float>(x.at[i]) : 0.0f;
  __syncthreads();
#pragma unroll 1
  for (unsigned step = 1; step < blockDim.x; step *= 2) {
    const unsigned first = 2 * step * me;
    if (first < blockDim.x) s[first] += s[first + step];
    __syncthreads();
  }
  if (me == 0) sums[blockIdx.x] = s[0];
}

Variant interleaved_strided() {
  return in_levels("interleaved_strided", "interleaved_divergent",
                   {strided_index_kernel, strided_index_kernel}, kBlock,
                   {{"warp_instructions", Direction::decreases, 1.2, is_large},
                    {"shared_bank_conflicts", Direction::increases, 2, is_large},
                    {"shared_load_wavefronts", Direction::unchanged, 1.1, is_large},
                    {"dram_read_bytes", Direction::unchanged, 1.05, is_large}});
}

// ---- sequential: contiguous words instead of strided words
//
// In a step with s active threads, thread t adds word t + s to word t. Neighbouring lanes access
// neighbouring words, which are in different banks: shared_bank_conflicts decreases to zero, and
// shared_load_wavefronts to about a quarter. dram_read_bytes is unchanged.
// held: bank_conflict = 1 at n=4194304
// held: shared_load_wavefronts = 1/4 × interleaved_strided within 6 % at n=4194304

// Sums the words of s in halving steps: the first step has `step` active threads, the last one
// `last` threads.
__device__ __forceinline__ void add_halves(float* s, unsigned step, unsigned last) {
#pragma unroll 1
  for (; step >= last; step /= 2) {
    if (threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step];
    __syncthreads();
  }
}

template <class T>
__global__ void __launch_bounds__(kBlock) sequential_kernel(Terms<T> x, float* sums) {
  __shared__ float s[kBlock];
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i < x.n ? static_cast<float>(x.at[i]) : 0.0f;
  __syncthreads();
  add_halves(s, blockDim.x / 2, 1);
  if (threadIdx.x == 0) sums[blockIdx.x] = s[0];
}

Variant sequential() {
  return in_levels("sequential", "interleaved_strided", {sequential_kernel, sequential_kernel},
                   kBlock,
                   {{"shared_bank_conflicts", Direction::decreases, 10, is_large},
                    {"shared_load_wavefronts", Direction::decreases, 3, is_large},
                    {"dram_read_bytes", Direction::unchanged, 1.05, is_large}});
}

// ---- first_add_on_load: two elements per thread
//
// In sequential, threads that add nothing in the first step only load an element. Here each thread
// loads two elements and adds them before it stores to shared memory. This halves the blocks, and
// with them trees and barriers: warp_instructions decreases to nearly half, and
// shared_load_wavefronts decreases. dram_read_bytes is unchanged.
// held: blocks = 1/2 × sequential; warp_instructions = 1/2 × sequential within 10 % at n=4194304

template <class T>
__device__ __forceinline__ float two_elements(const Terms<T>& x) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * (2 * kBlock) + threadIdx.x;
  const float one = i < x.n ? static_cast<float>(x.at[i]) : 0.0f;
  const float other = i + kBlock < x.n ? static_cast<float>(x.at[i + kBlock]) : 0.0f;
  return one + other;
}

template <class T>
__global__ void __launch_bounds__(kBlock) two_kernel(Terms<T> x, float* sums) {
  __shared__ float s[kBlock];
  s[threadIdx.x] = two_elements(x);
  __syncthreads();
  add_halves(s, blockDim.x / 2, 1);
  if (threadIdx.x == 0) sums[blockIdx.x] = s[0];
}

Variant first_add_on_load() {
  return in_levels("first_add_on_load", "sequential", {two_kernel, two_kernel}, 2 * kBlock,
                   {{"warp_instructions", Direction::decreases, 1.5, is_large},
                    {"shared_load_wavefronts", Direction::decreases, 1.8, is_large},
                    {"dram_read_bytes", Direction::unchanged, 1.05, is_large}});
}

// ---- unrolled_last_warp: the last warp without barriers
//
// At 32 active threads and below only the first warp adds, but in first_add_on_load all eight warps
// stay in the loop and pass its barriers. Here the other seven warps exit, and the first warp adds
// in six unrolled steps with __syncwarp instead of __syncthreads: warp_instructions decreases.
// Harris's warpReduce of 2007 relied on lockstep execution and used only volatile shared memory.
// Since Volta the lanes of a warp may diverge (CUDA C++ Programming Guide, "Independent Thread
// Scheduling"), so __syncwarp is necessary. dram_read_bytes is unchanged.

__device__ __forceinline__ float add_last_warp(float* s) {
  float sum = s[threadIdx.x];
#pragma unroll
  for (int step = kWarp; step > 0; step /= 2) {
    sum += s[threadIdx.x + step];
    __syncwarp();
    s[threadIdx.x] = sum;
    __syncwarp();
  }
  return sum;
}

template <class T>
__global__ void __launch_bounds__(kBlock) last_warp_kernel(Terms<T> x, float* sums) {
  __shared__ float s[kBlock];
  s[threadIdx.x] = two_elements(x);
  __syncthreads();
  add_halves(s, blockDim.x / 2, 2 * kWarp);
  if (threadIdx.x >= kWarp) return;
  const float sum = add_last_warp(s);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

Variant unrolled_last_warp() {
  return in_levels("unrolled_last_warp", "first_add_on_load", {last_warp_kernel, last_warp_kernel},
                   2 * kBlock,
                   {{"warp_instructions", Direction::decreases, 1.2, is_large},
                    {"dram_read_bytes", Direction::unchanged, 1.05, is_large}});
}

// ---- fully_unrolled: block size known at compile time
//
// The block size is a template constant, so the compiler unrolls all steps of the tree, without a
// loop counter or a backward branch. branch_instructions decreases, and warp_instructions decreases
// slightly. dram_read_bytes is unchanged.

__device__ __forceinline__ float tree_sum(float* s, float own) {
  s[threadIdx.x] = own;
  __syncthreads();
#pragma unroll
  for (int step = kBlock / 2; step > kWarp; step /= 2) {
    if (threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step];
    __syncthreads();
  }
  return threadIdx.x < kWarp ? add_last_warp(s) : 0.0f;
}

template <class T>
__global__ void __launch_bounds__(kBlock) unrolled_kernel(Terms<T> x, float* sums) {
  __shared__ float s[kBlock];
  const float sum = tree_sum(s, two_elements(x));
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

Variant fully_unrolled() {
  return in_levels("fully_unrolled", "unrolled_last_warp", {unrolled_kernel, unrolled_kernel},
                   2 * kBlock,
                   {{"branch_instructions", Direction::decreases, 1.2, is_large},
                    {"warp_instructions", Direction::decreases, 1.02, is_large},
                    {"dram_read_bytes", Direction::unchanged, 1.05, is_large}});
}

// ---- several_per_thread: grid-stride loop over resident blocks
//
// Only as many blocks as can be resident are launched. Each thread sums elements in a register, in
// a grid-stride loop with four loads in flight. Each block then reduces its threads' sums in one
// tree, regardless of n: warp_instructions and shared_load_wavefronts decrease to a fraction.
// dram_read_bytes is unchanged.
// held: barriers_per_block = 3 at n=4194304

constexpr int kBlocksPerSm = 8;  // 8 × 256 = 2048 threads, the maximum of an SM

template <class T>
__device__ __forceinline__ float sum_of_elements(const Terms<T>& x) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kBlock;
  float sum = 0;
#pragma unroll 4
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x; i < x.n;
       i += stride)
    sum += static_cast<float>(x.at[i]);
  return sum;
}

template <class T>
__global__ void __launch_bounds__(kBlock, kBlocksPerSm) several_kernel(Terms<T> x, float* sums) {
  __shared__ float s[kBlock];
  const float sum = tree_sum(s, sum_of_elements(x));
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

Variant several_per_thread() {
  return two_kernel_variant(variant("several_per_thread", "fully_unrolled", {4, false}, always<2>,
                                    {{"warp_instructions", Direction::decreases, 2, is_large},
                                     {"shared_load_wavefronts", Direction::decreases, 20, is_huge},
                                     {"dram_read_bytes", Direction::unchanged, 1.05, is_large}}),
                            {several_kernel, several_kernel}, kBlocksPerSm);
}

// ---- shuffles: warp shuffles instead of a tree in shared memory
//
// The lanes of a warp sum their values in five __shfl_down_sync steps. Each warp stores one word to
// shared memory, and thread 0 sums these words: shared_load_wavefronts and shared_store_wavefronts
// decrease. A block passes one barrier instead of three (after its stores, and after the steps of
// 128 and 64 threads). dram_read_bytes is unchanged.
// held: barriers_per_block = 1 at n=4194304

template <class T>
__global__ void __launch_bounds__(kBlock, kBlocksPerSm) shuffle_kernel(Terms<T> x, float* sums) {
  const float sum = ordered_block_sum<kBlock>(sum_of_elements(x));
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

Variant shuffles() {
  return two_kernel_variant(variant("shuffles", "several_per_thread", {4, false}, always<2>,
                                    {{"shared_load_wavefronts", Direction::decreases, 2, is_large},
                                     {"shared_store_wavefronts", Direction::decreases, 2, is_large},
                                     {"dram_read_bytes", Direction::unchanged, 1.05, is_large}}),
                            {shuffle_kernel, shuffle_kernel}, kBlocksPerSm);
}

// ---- vectors: 16-byte loads
//
// A lane loads 16 bytes at a time, four fp32 or eight bf16 numbers: global_load_requests decreases
// to a quarter (bf16: an eighth), and warp_instructions decreases. One vector is in flight per
// thread, instead of four elements in shuffles. dram_read_bytes is unchanged.
// held: global_load_requests = 1/4 × shuffles at dtype=fp32, n=4194304
// held: global_load_requests = 1/8 × shuffles at dtype=bf16, n=4194304

template <int kLoads, int kPerSm, class T>
__global__ void __launch_bounds__(kBlock, kPerSm) vector_kernel(Terms<T> x, float* sums) {
  const float sum = ordered_block_sum<kBlock>(sum_thread_part<kLoads>(x));
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

Variant vectors() {
  return two_kernel_variant(variant("vectors", "shuffles", {1, true}, always<2>,
                                    {{"global_load_requests", Direction::decreases, 3.5, is_large},
                                     {"warp_instructions", Direction::decreases, 1.2, is_huge},
                                     {"dram_read_bytes", Direction::unchanged, 1.05, is_large}}),
                            {vector_kernel<1, kBlocksPerSm>, vector_kernel<1, kBlocksPerSm>},
                            kBlocksPerSm);
}

// ---- vectors_in_flight: eight 16-byte loads in flight per thread
//
// A thread loads eight vectors before it adds the first one. This uses 8 × 4 = 32 registers, so
// four blocks are resident per SM instead of eight. They have 128 KB in flight instead of 32 KB; an
// SM of an H200 needs about 30 KB. global_load_requests and dram_read_bytes are unchanged. One loop
// iteration processes eight vectors, so warp_instructions decreases.
// held: blocks_per_sm = 4

constexpr int kLoads = 8;
constexpr int kFewerPerSm = 4;

Variant vectors_in_flight() {
  return two_kernel_variant(
      variant("vectors_in_flight", "vectors", {kLoads, true}, always<2>,
              {{std::string(kMetricMark) + kBytesInFlightMetric, Direction::increases, 7.9},
               {"warp_instructions", Direction::decreases, 1.1, is_huge},
               {"global_load_requests", Direction::unchanged, 1.05, is_large},
               {"dram_read_bytes", Direction::unchanged, 1.05, is_large}}),
      {vector_kernel<kLoads, kFewerPerSm>, vector_kernel<kLoads, kFewerPerSm>}, kFewerPerSm);
}

// ---- cub
//
// cub::DeviceReduce, the library baseline. Resident blocks load vectors, sum them with shuffles and
// store one partial sum each; a second kernel sums the partial sums.

Variant vendor_cub() {
  return cub_sum("vectors_in_flight");
}

// ---- declaration

Family declare() {
  Family f("reduction", Topic::patterns, "Which optimizations let a sum reach memory bandwidth?");
  f.physics =
      "A sum loads each number once: a quarter of an addition per byte, far below the SMs' "
      "arithmetic rate, so the lower bound on time is bytes over bandwidth. A tree in shared "
      "memory for each 256 or 512 numbers costs instructions, barriers and wavefronts, and each "
      "step has fewer active lanes. The tree is cheap if its active lanes fill whole warps and "
      "access different banks. It becomes unimportant if each thread first sums many numbers in a "
      "register. What remains is to keep enough bytes in flight for memory bandwidth.";
  declare_sums(f);
  f.plot("reduction", "traffic", "Sum within blocks: useful bandwidth");
  f.variants(interleaved_divergent(), interleaved_strided(), sequential(), first_add_on_load(),
             unrolled_last_warp(), fully_unrolled(), several_per_thread(), shuffles(), vectors(),
             vectors_in_flight(), vendor_cub());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::reduction
