// grid_sum: the sum of n numbers, of which each block has a part.
//
// The question: who adds up the blocks' sums? Blocks cannot wait for each other unless all of them
// are resident, and a kernel's end is the barrier that needs nothing: a second kernel adds up what
// the first left. Its launch and its latency take the same time at any n: little of a large array's
// time, and much of a small one's. One kernel is enough if blocks add to one place atomically, if
// the last block to finish sums for all, if all blocks wait for each other, and if there is only
// one block, or one cluster of blocks. What such a kernel counts in has to be cleared for each
// launch, which is a step of its own again.
//
// Blocks add up their part alike, eight vectors of 16 bytes per thread at a time. The other
// question of large arrays is who brings the bytes: blocks that stay and go over the array in
// strides, one block per tile, or the copy engine.
#include "kernels/common/bulk_copy.cuh"
#include "kernels/common/cluster.cuh"
#include "kernels/common/compiled_for.cuh"
#include "kernels/common/grid_barrier.cuh"
#include "kernels/common/last_block.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/common/load_past_l1.cuh"
#include "kernels/common/number_sums.cuh"
#include "kernels/common/ordered_sum.cuh"
#include "kernels/grid_sum/intrinsics.cuh"

namespace gpuexp::grid_sum {

using namespace number_sums;
using number_sums::Family;
using number_sums::Variant;

constexpr int kLoads = 8;
constexpr int kPerSm = 4;  // blocks that stay, of 64 registers per thread

// ---- two_kernels: a second kernel adds up the blocks' sums
//
// Blocks store their sums side by side, and one block of a second kernel adds them up in an order
// that the code fixes: equal bits in every launch. The second kernel starts when the first has
// ended, loads what that wrote, and ends.

template <class T>
__global__ void __launch_bounds__(kBlock, kPerSm) sums_kernel(Terms<T> x, float* sums) {
  const float sum = ordered_block_sum<kBlock>(sum_of_part<kLoads>(x));
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// ---- how the variants are launched

Variant two_kernels() {
  return in_two_kernels(variant("two_kernels", "", {kLoads, true}, always<2>, {}),
                        {sums_kernel, sums_kernel}, kPerSm);
}

constexpr auto is_large = at_least(&Problem::n, 1 << 24);  // every resident thread has some

// Where a launch is most of the time.
constexpr std::int64_t kFewElements = 1 << 14;

bool is_small(const Problem& p) {
  return p.n <= kFewElements;
}

ExpectedChangeOf<Problem> fewer_kernels() {
  return {std::string(kMetricMark) + "kernels", Direction::decreases, 1.9};
}
ExpectedChangeOf<Problem> same_bytes() {
  return {"dram_read_bytes", Direction::unchanged, 1.05, is_large};
}

// ---- programmatic: the second kernel is in place when the first ends
//
// The same two kernels by programmatic dependent launch: the second starts early and waits for the
// first one's results by griddepcontrol. It relieves small sums of the time between two kernels. It
// costs one block's place on an SM.

template <class T, bool kIsFirst>
__global__ void __launch_bounds__(kBlock, kPerSm) programmatic_kernel(Terms<T> x, float* sums) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  if constexpr (kIsFirst) {
    asm volatile("griddepcontrol.launch_dependents;");
  } else {
    asm volatile("griddepcontrol.wait;" ::: "memory");
  }
#endif
  const float sum = ordered_block_sum<kBlock>(sum_of_part<kLoads>(x));
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

constexpr int kProgrammatic = 90;

Variant programmatic() {
  Variant v =
      in_two_kernels(variant("programmatic", "two_kernels", {kLoads, true}, always<2>,
                             {{"warp_instructions", Direction::unchanged, 1.2}, same_bytes()}),
                     {sums_kernel, sums_kernel}, kPerSm);
  v.without_time = "how kernels overlap by programmatic dependent launch is not modelled";
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    auto* const sums = static_cast<float*>(x.workspace);
    const std::int64_t blocks = resident_blocks(p, x.device, kPerSm);
    Steps second = launch(programmatic_kernel<float, false>, shape_of_blocks(1, kBlock),
                          Terms<float>{sums, blocks}, d.sum);
    std::get<KernelStep>(second.all().front().action).programmatic = true;
    const Kernels first{programmatic_kernel<float, true>, programmatic_kernel<__nv_bfloat16, true>};
    return add_elements(first, shape_of_blocks(blocks, kBlock), p, d, sums) + std::move(second);
  };
  return needs_capability(std::move(v), kProgrammatic);
}

// ---- atomic_per_block: blocks add to one place
//
// Each block adds its sum to the result by an atomic addition, which L2 does: one per block, and
// nobody waits. The result is cleared first. There is one kernel. Blocks end in any order, so that
// the last bits differ from launch to launch.

template <class T>
__global__ void __launch_bounds__(kBlock, kPerSm) atomic_kernel(Terms<T> x, float* sum) {
  const float of_block = ordered_block_sum<kBlock>(sum_of_part<kLoads>(x));
  if (threadIdx.x == 0) atomicAdd(sum, of_block);
}

Steps adding(const Kernels& kernels, std::int64_t blocks, const Problem& p, const Data& d) {
  return Steps(MemsetStep{d.sum, 0, sizeof(float)}) +
         add_elements(kernels, shape_of_blocks(blocks, kBlock), p, d, d.sum);
}

Variant atomic_per_block() {
  Variant v = variant("atomic_per_block", "two_kernels", {kLoads, true}, always<1>,
                      {fewer_kernels(),
                       {"global_reduction_requests", Direction::increases, 100, is_large},
                       same_bytes()});
  v.deterministic = false;
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return adding({atomic_kernel, atomic_kernel}, resident_blocks(p, x.device, kPerSm), p, d);
  };
  return v;
}

// ---- tile_per_block: a block for each 64 KiB, in place of blocks that stay
//
// A block has sixteen vectors per thread, all of which it asks for before it adds the first. Then
// it adds its sum to the result and makes room for the next block. Which SM takes how many tiles is
// up to who is done first, so that none waits for the slowest at the end: SMs differ in how far
// they are from memory. It costs a start of a block and an atomic addition per 64 KiB.

constexpr int kTileLoads = 16;

template <class T>
constexpr std::int64_t kTile = std::int64_t{kBlock} * kTileLoads* kWidth<T>;

// This thread's part of the block's tile.
template <class T, class Load>
__device__ __forceinline__ float sum_of_tile(const Terms<T>& x, Load load) {
  const std::int64_t tile = blockIdx.x * kTile<T>;
  if (tile + kTile<T> <= x.n) {
    const T* const from = x.at + tile + threadIdx.x * kWidth<T>;
    return sum_of_vectors<kTileLoads>(from, std::int64_t{kBlock} * kWidth<T>, load);
  }
  float sum = 0.0f;
#pragma unroll 1
  for (std::int64_t i = tile + threadIdx.x; i < x.n; i += kBlock)
    sum += static_cast<float>(x.at[i]);
  return sum;
}

template <class Load, class T>
__global__ void __launch_bounds__(kBlock, kPerSm) tile_kernel(Terms<T> x, float* sum) {
  const float of_block = ordered_block_sum<kBlock>(sum_of_tile(x, Load{}));
  if (threadIdx.x == 0) atomicAdd(sum, of_block);
}

std::int64_t tiles_of(const Problem& p) {
  return ceil_div(
      p.n, of_float_type(p.dtype, [](auto zero) { return std::int64_t{kTile<decltype(zero)>}; }));
}

template <class Load>
Variant tile_variant(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected) {
  Variant v = variant(std::move(id), std::move(compare_to), {kTileLoads, true}, always<1>,
                      std::move(expected));
  v.deterministic = false;
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return adding({tile_kernel<Load>, tile_kernel<Load>}, tiles_of(p), p, d);
  };
  return v;
}

constexpr auto has_many_tiles = at_least(&Problem::n, 1 << 28);

Variant tile_per_block() {
  return tile_variant<PlainLoad>(
      "tile_per_block", "atomic_per_block",
      {{"global_reduction_requests", Direction::increases, 4, has_many_tiles}, same_bytes()});
}

// ---- tile_hinted: loads that say what they are
//
// The same tiles by loads that keep nothing in L1 (L1::no_allocate), since nobody reads a number
// again, and that ask L2 to fetch 256 bytes at a time (L2::256B), since the neighbours are wanted
// next. DRAM serves longer runs, or it does not: what moves from there is the same, and L2 has more
// to do with what is fetched ahead (l2_sectors).

Variant tile_hinted() {
  return tile_variant<HintedLoad>(
      "tile_hinted", "tile_per_block",
      {{"global_load_requests", Direction::unchanged, 1.05, is_large}, same_bytes()});
}

// ---- last_block: who finishes last adds up
//
// Blocks store their sums side by side, and then count themselves by an atomic addition that says
// how many were before (__threadfence between the two). The last one adds up all sums, in an order
// that the code fixes: one kernel, and equal bits in every launch. The counter is cleared first.

// By all threads of all blocks, of which thread 0 has the block's sum.
__device__ __forceinline__ void add_in_last_block(float sum, float* sums, unsigned* finished,
                                                  float* total) {
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  if (!is_last_block(finished)) return;
  float of_thread = 0.0f;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += kBlock)
    of_thread += load_past_l1(sums + i);
  const float of_all = ordered_block_sum<kBlock>(of_thread);
  if (threadIdx.x == 0) *total = of_all;
}

template <class T>
__global__ void __launch_bounds__(kBlock, kPerSm)
    last_block_kernel(Terms<T> x, float* sums, unsigned* finished, float* total) {
  const float sum = ordered_block_sum<kBlock>(sum_of_part<kLoads>(x));
  add_in_last_block(sum, sums, finished, total);
}

// So many blocks of `kernel_of(zero)`, the kernel for a zero of the elements' type, which gets the
// terms, room for the blocks' sums, and a counter that is 0 when the launch begins.
template <class KernelOf>
Variant in_one_kernel(Variant v, KernelOf kernel_of,
                      std::int64_t (*blocks)(const Problem&, const DeviceSpec&),
                      std::int64_t shared_bytes = 0) {
  v.workspace_bytes = [blocks](const Problem& p, const DeviceSpec& device) {
    return (blocks(p, device) + 1) * std::int64_t{sizeof(float)};
  };
  v.launch = [=](const Problem& p, const Data& d, const LaunchContext& x) {
    Shape s = shape_of_blocks(blocks(p, x.device), kBlock);
    s.dynamic_shared_bytes = shared_bytes;
    auto* const counter = static_cast<unsigned*>(x.workspace);
    auto* const sums = static_cast<float*>(x.workspace) + 1;
    return Steps(MemsetStep{counter, 0, sizeof *counter}) + of_float_type(p.dtype, [&](auto zero) {
             return launch(kernel_of(zero), s, terms<decltype(zero)>(p, d), sums, counter, d.sum);
           });
  };
  return v;
}

std::int64_t blocks_that_stay(const Problem& p, const DeviceSpec& device) {
  return resident_blocks(p, device, kPerSm);
}

Variant last_block() {
  return in_one_kernel(
      variant("last_block", "two_kernels", {kLoads, true}, always<1>,
              {fewer_kernels(),
               {"global_atomic_requests", Direction::increases, 100, is_large},
               same_bytes()}),
      [](auto zero) { return last_block_kernel<decltype(zero)>; }, blocks_that_stay);
}

// ---- tile_last_block: tiles, summed in a fixed order
//
// The tiles of tile_per_block, but each block stores its sum instead of adding it atomically:
// global_reduction_requests decreases to none. The last of each 256 blocks sums theirs, and the
// last of these blocks sums the results, in the same order in every launch. The cost is that each
// block fences its store and waits for a counter's old value: global_atomic_requests increases. Its
// slot is free for the next block later, so on an H200 even a large sum takes longer than with
// tile_per_block. dram_read_bytes is unchanged.

constexpr unsigned kGroup = kBlock;  // blocks, of whose sums each thread of the last has one

std::int64_t groups_of(const Problem& p) {
  return ceil_div(tiles_of(p), kGroup);
}

struct Groups {
  unsigned* finished;         // of all groups
  unsigned* blocks_finished;  // by group
  float* sums;                // of blocks
  float* group_sums;
};

template <class T>
__global__ void __launch_bounds__(kBlock, kPerSm)
    tile_last_kernel(Terms<T> x, Groups groups, float* total) {
  const float of_block = ordered_block_sum<kBlock>(sum_of_tile(x, PlainLoad{}));
  const unsigned group = blockIdx.x / kGroup;
  const unsigned blocks = min(kGroup, gridDim.x - group * kGroup);
  if (threadIdx.x == 0) groups.sums[blockIdx.x] = of_block;
  if (!is_last_of(blocks, groups.blocks_finished + group)) return;
  const float of_other =
      threadIdx.x < blocks ? load_past_l1(groups.sums + group * kGroup + threadIdx.x) : 0.0f;
  const float of_group = ordered_block_sum<kBlock>(of_other);
  if (threadIdx.x == 0) groups.group_sums[group] = of_group;
  const unsigned count = (gridDim.x + kGroup - 1) / kGroup;
  if (!is_last_of(count, groups.finished)) return;
  float of_thread = 0.0f;
  for (unsigned i = threadIdx.x; i < count; i += kBlock)
    of_thread += load_past_l1(groups.group_sums + i);
  const float of_all = ordered_block_sum<kBlock>(of_thread);
  if (threadIdx.x == 0) *total = of_all;
}

Variant tile_last_block() {
  Variant v = variant("tile_last_block", "tile_per_block", {kTileLoads, true}, always<1>,
                      {{"global_reduction_requests", Direction::decreases, 100, is_large},
                       {"global_atomic_requests", Direction::increases, 100, is_large},
                       same_bytes()});
  v.without_time = "which blocks add up for the others is decided while they run";
  v.workspace_bytes = [](const Problem& p, const DeviceSpec&) {
    return (1 + 2 * groups_of(p) + tiles_of(p)) * std::int64_t{sizeof(float)};
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    auto* const counters = static_cast<unsigned*>(x.workspace);
    const std::int64_t count = groups_of(p);
    auto* const sums = reinterpret_cast<float*>(counters + 1 + count);
    const Groups groups{counters, counters + 1, sums, sums + tiles_of(p)};
    const std::int64_t cleared = (1 + count) * std::int64_t{sizeof *counters};
    return Steps(MemsetStep{counters, 0, cleared}) + of_float_type(p.dtype, [&](auto zero) {
             using T = decltype(zero);
             return launch(tile_last_kernel<T>, shape_of_blocks(tiles_of(p), kBlock),
                           terms<T>(p, d), groups, d.sum);
           });
  };
  return v;
}

// ---- cooperative: all blocks wait for each other
//
// A cooperative launch, whose blocks are all resident, so that they can wait for each other in the
// middle of the kernel. Block 0 adds up the sums when all have come. It is last_block with a
// barrier that no other block needs: each spins on the counter until the last has come. Warps add
// up by cg::reduce of cooperative groups, which is the same shuffles.

template <class T>
__global__ void __launch_bounds__(kBlock, kPerSm)
    cooperative_kernel(Terms<T> x, float* sums, unsigned* arrived, float* total) {
  const float sum = group_block_sum(sum_of_part<kLoads>(x));
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  wait_for_grid(arrived);
  if (blockIdx.x > 0) return;
  float of_thread = 0.0f;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += kBlock)
    of_thread += load_past_l1(sums + i);
  const float of_all = group_block_sum(of_thread);
  if (threadIdx.x == 0) *total = of_all;
}

Variant cooperative() {
  Variant v = in_one_kernel(
      variant("cooperative", "last_block", {kLoads, true}, always<1>,
              {{"metric.kernels", Direction::unchanged}, same_bytes()}),
      [](auto zero) { return cooperative_kernel<decltype(zero)>; }, blocks_that_stay);
  v.without_time = "the time of blocks that wait for others is not modelled";
  v.launch = [one_by_one = v.launch](const Problem& p, const Data& d, const LaunchContext& x) {
    Steps steps = one_by_one(p, d, x);
    std::get<KernelStep>(steps.all().back().action).cooperative = true;
    return steps;
  };
  return v;
}

// ---- bulk_copies: the copy engine brings the bytes
//
// cp.async.bulk: one thread asks for 16 KiB at a time, which the SM's copy engine writes to shared
// memory, and the block adds up from there. Three blocks of four stages have 192 KiB in flight per
// SM, whatever the registers. global_load_requests falls to next to none. It costs the shared
// memory, and a barrier of the block per 16 KiB, after which the stage is filled again.

constexpr int kBulkPerSm = 3;
constexpr int kStages = 4;
constexpr int kStageBytes = 16384;
constexpr int kStageVectors = kStageBytes / kVectorBytes / kBlock;  // of each thread

template <class T>
__device__ __forceinline__ float sum_of_stages(const Terms<T>& x, char* stages) {
  __shared__ Barrier arrived[kStages];
  constexpr std::int64_t kElements = kStageBytes / sizeof(T);
  const std::int64_t whole = x.n / kElements;
  const auto start = [&](int turn) {
    const std::int64_t chunk = blockIdx.x + static_cast<std::int64_t>(turn) * gridDim.x;
    if (chunk < whole)
      start_bulk_load(stages + turn % kStages * kStageBytes, x.at + chunk * kElements, kStageBytes,
                      arrived + turn % kStages);
  };
  if (threadIdx.x == 0) {
    init_barriers(arrived, kStages);
    for (int turn = 0; turn < kStages; ++turn)
      start(turn);
  }
  __syncthreads();
  float sum = 0.0f;
#pragma unroll 1
  for (int turn = 0; blockIdx.x + static_cast<std::int64_t>(turn) * gridDim.x < whole; ++turn) {
    wait_for_phase(arrived + turn % kStages, turn / kStages % 2);
    const T* const stage = reinterpret_cast<const T*>(stages + turn % kStages * kStageBytes);
    sum += sum_of_vectors<kStageVectors>(stage + threadIdx.x * kWidth<T>, kBlock * kWidth<T>);
    __syncthreads();  // all have read the stage
    if (threadIdx.x == 0) start(turn + kStages);
  }
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kBlock;
  for (std::int64_t i = whole * kElements + blockIdx.x * kBlock + threadIdx.x; i < x.n; i += stride)
    sum += static_cast<float>(x.at[i]);
  return sum;
}

template <class T>
__global__ void __launch_bounds__(kBlock, kBulkPerSm)
    bulk_kernel(Terms<T> x, float* sums, unsigned* finished, float* total) {
  extern __shared__ __align__(128) char stages[];
  const float sum = ordered_block_sum<kBlock>(sum_of_stages(x, stages));
  add_in_last_block(sum, sums, finished, total);
}

std::int64_t bulk_blocks(const Problem& p, const DeviceSpec& device) {
  return std::min(std::int64_t{device.sm_count} * kBulkPerSm, ceil_div(bytes_of(p), kStageBytes));
}

Variant bulk_copies() {
  constexpr int kVectorsInFlight = kStages * kStageVectors;
  Variant v = in_one_kernel(
      variant("bulk_copies", "last_block", {kVectorsInFlight, true}, always<1>,
              {{"global_load_requests", Direction::decreases, 100, is_large},
               {"metric.bytes_in_flight_per_thread", Direction::increases, 1.9},
               same_bytes()}),
      [](auto zero) { return bulk_kernel<decltype(zero)>; }, bulk_blocks, kStages * kStageBytes);
  return needs_capability(std::move(v), kBulkCopyComputeCapability);
}

// ---- one_block: the whole array in one block
//
// One block of 1024 threads sums the whole array: one kernel and no counter to clear, so
// metric.kernels decreases. For small arrays the time decreases (time_median_us), because no second
// kernel starts and loads the blocks' sums. The cost is bandwidth: one SM has only its own loads in
// flight, 8 × 16 bytes per thread. It stops helping when the array is more than a few loads per
// thread.

constexpr int kLargeBlock = 1024;  // one per SM, which lets ptxas keep eight vectors in registers

template <class T>
__global__ void __launch_bounds__(kLargeBlock, 1) one_block_kernel(Terms<T> x, float* sum) {
  const float of_block = ordered_block_sum<kLargeBlock>(sum_of_part<kLoads>(x));
  if (threadIdx.x == 0) *sum = of_block;
}

// So many blocks of 1024 threads, and no more.
Variant of_few(Variant v, int blocks, Kernels kernels) {
  v.unsupported = [=](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    const std::int64_t most = std::int64_t{blocks} << 22;
    if (p.n > most)
      return "needs n <= " + std::to_string(most) + ": few SMs would take as long as it takes";
    return std::nullopt;
  };
  v.shown_at = {{"n", kFewElements}};
  v.launch = [=](const Problem& p, const Data& d, const LaunchContext&) {
    Shape s = shape_of_blocks(blocks, kLargeBlock);
    s.cluster = {blocks, 1, 1};
    return add_elements(kernels, s, p, d, d.sum);
  };
  return v;
}

Variant one_block() {
  return of_few(variant("one_block", "two_kernels", {kLoads, true}, always<1>,
                        {fewer_kernels(), {"time_median_us", Direction::decreases, 1.2, is_small}}),
                1, {one_block_kernel, one_block_kernel});
}

// ---- one_cluster: eight blocks that read each other's shared memory
//
// The eight blocks of a cluster run at once on SMs of one GPC and wait for each other by a barrier
// in hardware; the first reads the others' sums from their shared memory. It is one kernel with
// nothing to clear, as one_block, with the loads of eight blocks in flight. Compute capability 9.0.

template <class T>
__global__ void __launch_bounds__(kLargeBlock, 1) cluster_kernel(Terms<T> x, float* sum) {
  __shared__ float of_block;
  const float own = ordered_block_sum<kLargeBlock>(sum_of_part<kLoads>(x));
  if (threadIdx.x == 0) of_block = own;
  sync_cluster();
  if (cluster_rank() == 0 && threadIdx.x == 0) {
    float of_all = 0.0f;
    for (unsigned rank = 0; rank < kMostClusterBlocks; ++rank)
      of_all +=
          __uint_as_float(load_cluster_shared(mapped_shared(shared_address(&of_block), rank)));
    *sum = of_all;
  }
  sync_cluster();  // shared memory is there as long as the first block reads it
}

Variant one_cluster() {
  return needs_capability(
      of_few(variant("one_cluster", "one_block", {kLoads, true}, always<1>,
                     {{"metric.kernels", Direction::unchanged},
                      {"warp_instructions", Direction::increases, 1.5, is_small}}),
             kMostClusterBlocks, {cluster_kernel, cluster_kernel}),
      kClustersFrom);
}

// ---- cub
//
// cub::DeviceReduce: what one would call, and the figure to beat. Two kernels, as two_kernels has
// them; of small arrays one kernel of one block.

Variant vendor_cub() {
  return cub_sum("two_kernels");
}

// ---- declaration

Family declare() {
  Family f("grid_sum", Topic::patterns, "Who adds up the blocks' sums?");
  f.physics =
      "Blocks of a grid run in any order, and only the end of a kernel is a barrier between them "
      "that needs nothing. What they found is added up by a second kernel, by atomic additions in "
      "L2, by the last block that finishes, or behind a barrier of blocks that are all resident. A "
      "kernel takes time to start and to end, and what is counted in has to be cleared: "
      "that is all of a small sum, and nothing of a large one, which takes as long as its bytes "
      "need. Atomic additions of floats come in any order, and so do roundings; every other way "
      "has one order, which the code fixes, and equal bits in every launch.";
  declare_sums(f);
  f.figure("grid_sum", "swept_times", "Sums over the grid: time");
  f.variants(two_kernels(), programmatic(), atomic_per_block(), tile_per_block(), tile_hinted(),
             last_block(), tile_last_block(), cooperative(), bulk_copies(), one_block(),
             one_cluster(), vendor_cub());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::grid_sum
