// reduction: the sum of n numbers.
//
// The question: what does it take to add up an array as fast as memory delivers it? Each number is
// read once and added once, a quarter of an addition per byte, so that bytes over bandwidth are the
// least time. But additions depend on each other: threads add up parts, a block its threads' sums
// in log2(256) steps of a tree, and somebody the blocks' sums. Mark Harris's seven steps
// (Optimizing Parallel Reduction in CUDA, 2007) take the tree apart on a GPU of 2007. The later
// ones are those that count on a GPU of today: many loads in flight per thread, no tree to speak
// of, and one kernel. Of small arrays the launches are all that counts.
//
// fp32 additions round, so that the order of additions decides on the last bits.
#include "kernels/common/launch.cuh"
#include "kernels/common/number_sums.cuh"
#include "kernels/common/ordered_sum.cuh"

namespace gpuexp::reduction {

using namespace number_sums;
using number_sums::Family;
using number_sums::Variant;

// ---- interleaved_divergent: neighbours first, every second thread
//
// A block puts 256 elements into shared memory and adds up pairs, then pairs of pairs, in eight
// steps: in step s, threads whose index is a multiple of 2s add what lies s further. Active lanes
// are spread over all warps: in the fifth step each warp still has one lane at work, and all eight
// warps execute every step. Blocks' sums are added up by further launches in the same way.

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

// A block adds up `tile` elements; launches follow until one sum is left.
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
    Steps steps = add_elements(kernels, shape_of_blocks(left, kBlock), p, d, left > 1 ? to : d.sum);
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

constexpr auto is_large = at_least(&Problem::n, 1 << 22);  // every resident thread has some

constexpr auto is_huge = at_least(&Problem::n, 1 << 28);

Variant interleaved_divergent() {
  return in_levels("interleaved_divergent", "", {divergent_kernel, divergent_kernel}, kBlock, {});
}

// ---- interleaved_strided: the same pairs, consecutive threads
//
// Thread t adds pair t, so the active threads of each step are consecutive. A warp without active
// threads skips the addition: warp_instructions decreases. The cost is bank conflicts: at stride s,
// the words of neighbouring lanes are 2s apart, and shared_bank_conflicts increases. Of 256
// threads, 256/2s add at stride s, so at most 8 lanes access one bank, at s = 4, 8 and 16.
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

// ---- sequential: the upper part added to the lower
//
// In each step thread t adds the word that lies as far behind word t as there are threads at work:
// neighbouring lanes have neighbouring words, in banks of their own. shared_bank_conflicts falls to
// none, and shared_load_wavefronts to about a quarter.
// held: bank_conflict = 1 at n=4194304
// held: shared_load_wavefronts = 1/4 × interleaved_strided within 6 % at n=4194304

// What the block's first threads add up of s, from `step` threads on, down to `last` threads.
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
// In sequential, threads that add nothing in the first step only load an element. Here each loads
// two and adds them on the way to shared memory: blocks, and with them trees and barriers, fall to
// half, warp_instructions to nearly half, and a thread has two loads in flight.
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
// Harris's warpReduce of 2007 relied on lanes that execute in lockstep and needed only volatile
// shared memory. Since Volta the lanes of a warp may diverge (CUDA C++ Programming Guide,
// "Independent Thread Scheduling"), so the kernel needs __syncwarp. dram_read_bytes is unchanged.

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

// ---- fully_unrolled: the block's size is a constant
//
// The compiler knows how many steps there are and makes straight code of them: no counter, no
// branch back. branch_instructions falls, warp_instructions somewhat.

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

// ---- several_per_thread: blocks that stay
//
// As many blocks as are resident, whose threads go over the array in strides of the grid and add to
// a register. Each block has one tree, whatever n: warp_instructions and the wavefronts of shared
// memory fall to a fraction, and two kernels are enough. A thread has four loads in flight.
// held: barriers_per_block = 3 at n=4194304

constexpr int kBlocksPerSm = 8;  // of 256 threads: an SM's 2048

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
  return in_two_kernels(variant("several_per_thread", "fully_unrolled", {4, false}, always<2>,
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
// 128 and 64 threads). For large n the time is unchanged, because each resident block sums its
// threads' values only once. dram_read_bytes is unchanged.
// held: barriers_per_block = 1 at n=4194304

template <class T>
__global__ void __launch_bounds__(kBlock, kBlocksPerSm) shuffle_kernel(Terms<T> x, float* sums) {
  const float sum = ordered_block_sum<kBlock>(sum_of_elements(x));
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

Variant shuffles() {
  return in_two_kernels(variant("shuffles", "several_per_thread", {4, false}, always<2>,
                                {{"shared_load_wavefronts", Direction::decreases, 2, is_large},
                                 {"shared_store_wavefronts", Direction::decreases, 2, is_large},
                                 {"dram_read_bytes", Direction::unchanged, 1.05, is_large}}),
                        {shuffle_kernel, shuffle_kernel}, kBlocksPerSm);
}

// ---- vectors: 16-byte loads
//
// A lane loads 16 bytes at a time, four fp32 or eight bf16 numbers: global_load_requests falls to a
// quarter (bf16: an eighth), and warp_instructions with it. One vector of 16 bytes is in flight per
// thread, where shuffles has four elements.
// held: global_load_requests = 1/4 × shuffles at dtype=fp32, n=4194304
// held: global_load_requests = 1/8 × shuffles at dtype=bf16, n=4194304

template <int kLoads, int kPerSm, class T>
__global__ void __launch_bounds__(kBlock, kPerSm) vector_kernel(Terms<T> x, float* sums) {
  const float sum = ordered_block_sum<kBlock>(sum_of_part<kLoads>(x));
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

Variant vectors() {
  return in_two_kernels(variant("vectors", "shuffles", {1, true}, always<2>,
                                {{"global_load_requests", Direction::decreases, 3.5, is_large},
                                 {"warp_instructions", Direction::decreases, 1.2, is_huge},
                                 {"dram_read_bytes", Direction::unchanged, 1.05, is_large}}),
                        {vector_kernel<1, kBlocksPerSm>, vector_kernel<1, kBlocksPerSm>},
                        kBlocksPerSm);
}

// ---- vectors_in_flight: eight of them before the first addition
//
// A thread asks for eight vectors before it adds the first. It takes 8 × 4 = 32 registers for them,
// so that four blocks are resident in place of eight, and these have 128 KB in flight where eight
// had 32: Little's law asks an H200's SM for some 30. Requests and bytes stay; the loop's own
// instructions serve eight vectors, and warp_instructions falls.
// held: blocks_per_sm = 4

constexpr int kLoads = 8;
constexpr int kFewerPerSm = 4;

Variant vectors_in_flight() {
  return in_two_kernels(
      variant("vectors_in_flight", "vectors", {kLoads, true}, always<2>,
              {{std::string(kMetricMark) + kBytesInFlightMetric, Direction::increases, 7.9},
               {"warp_instructions", Direction::decreases, 1.1, is_huge},
               {"global_load_requests", Direction::unchanged, 1.05, is_large},
               {"dram_read_bytes", Direction::unchanged, 1.05, is_large}}),
      {vector_kernel<kLoads, kFewerPerSm>, vector_kernel<kLoads, kFewerPerSm>}, kFewerPerSm);
}

// ---- cub
//
// cub::DeviceReduce: what one would call, and the figure to beat. Blocks that stay load vectors,
// add up by shuffles and leave a sum each; a second kernel adds up these. Small arrays take one
// kernel of one block.

Variant vendor_cub() {
  return cub_sum("vectors_in_flight");
}

// ---- declaration

Family declare() {
  Family f("reduction", Topic::patterns, "How does a block add up what its threads have?");
  f.physics =
      "A sum reads each number once: a quarter of an addition per byte, far below what the SMs can "
      "add, so that bytes over bandwidth are the least time. A tree in shared memory for each 256 "
      "or 512 numbers costs instructions, barriers and wavefronts, and in each step fewer lanes "
      "are at work. How well its lanes lie in warps and banks is what it takes to make such a tree "
      "cheap; threads that add up many numbers in a register before they need a tree make it "
      "unimportant. What is left is to have enough bytes in flight for memory's bandwidth.";
  declare_sums(f);
  f.figure("reduction", "traffic", "Sums within blocks: useful bytes per second");
  f.variants(interleaved_divergent(), interleaved_strided(), sequential(), first_add_on_load(),
             unrolled_last_warp(), fully_unrolled(), several_per_thread(), shuffles(), vectors(),
             vectors_in_flight(), vendor_cub());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::reduction
