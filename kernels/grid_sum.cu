// grid_sum: the sum of n numbers; each block sums a part of them.
//
// The question: which method combines the per-block partial sums fastest? Blocks can wait for each
// other only if all of them are resident. The end of a kernel is a barrier without this condition,
// but a second kernel adds a launch and its latency, which matters for small arrays.
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
constexpr int kPerSm = 4;  // resident blocks; each thread can use 64 registers

// ---- two_kernels: a second kernel sums the partial sums
//
// The threads of the resident blocks sum the array in a grid-stride loop, each with eight 16-byte
// loads in flight. Each block stores its partial sum, and a second kernel of one block sums the
// partial sums. The order of all additions is fixed, so results are bitwise identical in every
// launch. The second kernel starts when the first has ended, which costs a launch and the latency
// of its loads.
template <class T>
__global__ void __launch_bounds__(kBlock, kPerSm) sums_kernel(Terms<T> x, float* sums) {
  const float sum = ordered_block_sum<kBlock>(sum_thread_part<kLoads>(x));
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// ---- how the variants are launched

Variant two_kernels() {
  return two_kernel_variant(variant("two_kernels", "", {kLoads, true}, always<2>, {}),
                            {sums_kernel, sums_kernel}, kPerSm);
}

constexpr auto is_large = at_least(&Problem::n, 1 << 24);  // every resident thread has elements

// At most this size, launches take most of the time.
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

// ---- programmatic: programmatic dependent launch of the second kernel
//
// The first kernel executes griddepcontrol.launch_dependents, so the block of the second kernel
// starts early and waits in griddepcontrol.wait until the first kernel has ended. This removes
// launch latency between the two kernels, which matters for small sums. The waiting block occupies
// a block slot. warp_instructions and dram_read_bytes are unchanged.

template <class T, bool kIsFirst>
__global__ void __launch_bounds__(kBlock, kPerSm) programmatic_kernel(Terms<T> x, float* sums) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  if constexpr (kIsFirst) {
    asm volatile("griddepcontrol.launch_dependents;");
  } else {
    asm volatile("griddepcontrol.wait;" ::: "memory");
  }
#endif
  const float sum = ordered_block_sum<kBlock>(sum_thread_part<kLoads>(x));
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

constexpr int kProgrammatic = 90;

Variant programmatic() {
  Variant v =
      two_kernel_variant(variant("programmatic", "two_kernels", {kLoads, true}, always<2>,
                                 {{"warp_instructions", Direction::unchanged, 1.2}, same_bytes()}),
                         {sums_kernel, sums_kernel}, kPerSm);
  v.without_time = "the overlap of kernels by programmatic dependent launch is not modelled";
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    auto* const sums = static_cast<float*>(x.workspace);
    const std::int64_t blocks = resident_blocks(p, x.device, kPerSm);
    Steps second = launch(programmatic_kernel<float, false>, shape_of_blocks(1, kBlock),
                          Terms<float>{sums, blocks}, d.sum);
    std::get<KernelStep>(second.all().front().action).programmatic = true;
    const Kernels first{programmatic_kernel<float, true>, programmatic_kernel<__nv_bfloat16, true>};
    return launch_sum(first, shape_of_blocks(blocks, kBlock), p, d, sums) + std::move(second);
  };
  return needs_capability(std::move(v), kProgrammatic);
}

// ---- atomic_per_block: one atomic addition per block
//
// Thread 0 of each block adds the block's partial sum to the result with an atomic addition, which
// L2 performs: global_reduction_requests increases. The thread does not wait for the addition. No
// second kernel is needed: metric.kernels decreases. A memset clears the result first. Blocks end
// in any order, so the last bits of the result differ between launches.

template <class T>
__global__ void __launch_bounds__(kBlock, kPerSm) atomic_kernel(Terms<T> x, float* sum) {
  const float of_block = ordered_block_sum<kBlock>(sum_thread_part<kLoads>(x));
  if (threadIdx.x == 0) atomicAdd(sum, of_block);
}

Steps adding(const Kernels& kernels, std::int64_t blocks, const Problem& p, const Data& d) {
  return Steps(MemsetStep{d.sum, 0, sizeof(float)}) +
         launch_sum(kernels, shape_of_blocks(blocks, kBlock), p, d, d.sum);
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

// ---- tile_per_block: one block per 64 KiB tile
//
// Each thread loads 16 vectors of 16 bytes before it adds the first, so a block sums 16 × 16 × 256
// / 1024 = 64 KiB and ends. In atomic_per_block all blocks are resident and sum equal shares, so
// the launch waits for the slowest SM. Here an SM that finishes a tile earlier also starts its next
// tile earlier. The cost is one block start and one atomic addition per 64 KiB:
// global_reduction_requests increases.

constexpr int kTileLoads = 16;

template <class T>
constexpr std::int64_t kTile = std::int64_t{kBlock} * kTileLoads* kWidth<T>;

// Returns this thread's partial sum of the block's tile.
template <class T, class Load>
__device__ __forceinline__ float sum_of_tile(const Terms<T>& x, Load load) {
  const std::int64_t tile = blockIdx.x * kTile<T>;
  if (tile + kTile<T> <= x.n) {
    const T* const from = x.at + tile + threadIdx.x * kWidth<T>;
    return sum_vectors<kTileLoads>(from, std::int64_t{kBlock} * kWidth<T>, load);
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

// ---- tile_hinted: loads with cache hints
//
// The loads of tile_per_block carry two hints. L1::no_allocate allocates no line in L1, because
// each number is loaded once. L2::256B makes L2 prefetch 256 bytes, because other threads load the
// neighbouring bytes next. global_load_requests and dram_read_bytes are unchanged. The cost is
// additional L2 traffic for prefetched sectors (l2_sectors).

Variant tile_hinted() {
  return tile_variant<HintedLoad>(
      "tile_hinted", "tile_per_block",
      {{"global_load_requests", Direction::unchanged, 1.05, is_large}, same_bytes()});
}

// ---- last_block: the last block to finish sums the partial sums
//
// Each block stores its partial sum, executes __threadfence and increments a counter with an atomic
// operation that returns the old value: global_atomic_requests increases. The block that receives
// the highest value sums all partial sums in a fixed order, so results are bitwise identical in
// every launch. This takes one kernel instead of two: metric.kernels decreases. A memset clears the
// counter before each launch.

// All threads of all blocks must call this. In each block, thread 0 passes the block's sum. The
// last block to finish stores the total.
__device__ __forceinline__ void add_in_last_block(float sum, float* sums, unsigned* finished,
                                                  float* total) {
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  if (!is_last_block(finished)) return;
  float of_thread = 0.0f;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += kBlock)
    of_thread += load_cg(sums + i);
  const float of_all = ordered_block_sum<kBlock>(of_thread);
  if (threadIdx.x == 0) *total = of_all;
}

template <class T>
__global__ void __launch_bounds__(kBlock, kPerSm)
    last_block_kernel(Terms<T> x, float* sums, unsigned* finished, float* total) {
  const float sum = ordered_block_sum<kBlock>(sum_thread_part<kLoads>(x));
  add_in_last_block(sum, sums, finished, total);
}

// `kernel_of(zero)` returns the kernel for the element type of `zero`. Its arguments are the terms,
// an array for per-block sums, a counter that is 0 at the start, and the address of the result.
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

std::int64_t persistent_blocks(const Problem& p, const DeviceSpec& device) {
  return resident_blocks(p, device, kPerSm);
}

Variant last_block() {
  return in_one_kernel(
      variant("last_block", "two_kernels", {kLoads, true}, always<1>,
              {fewer_kernels(),
               {"global_atomic_requests", Direction::increases, 100, is_large},
               same_bytes()}),
      [](auto zero) { return last_block_kernel<decltype(zero)>; }, persistent_blocks);
}

// ---- tile_last_block: tiles, summed in a fixed order
//
// Each block stores its partial sum instead of adding it atomically: global_reduction_requests
// decreases to zero. In each group of 256 blocks, the last block to finish sums the group's partial
// sums. The last group to finish sums the group sums, in the same order in every launch. The cost
// is that each block fences its store and waits for a counter's old value: global_atomic_requests
// increases. Its block slot becomes free later, so on an H200 even a large sum takes longer than
// with tile_per_block. dram_read_bytes is unchanged.

// blocks per group: one partial sum per thread of the last block
constexpr unsigned kGroup = kBlock;

std::int64_t groups_of(const Problem& p) {
  return ceil_div(tiles_of(p), kGroup);
}

struct Groups {
  unsigned* finished;         // number of finished groups
  unsigned* blocks_finished;  // number of finished blocks of each group
  float* sums;                // per-block partial sums
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
      threadIdx.x < blocks ? load_cg(groups.sums + group * kGroup + threadIdx.x) : 0.0f;
  const float group_sum = ordered_block_sum<kBlock>(of_other);
  if (threadIdx.x == 0) groups.group_sums[group] = group_sum;
  const unsigned count = (gridDim.x + kGroup - 1) / kGroup;
  if (!is_last_of(count, groups.finished)) return;
  float of_thread = 0.0f;
  for (unsigned i = threadIdx.x; i < count; i += kBlock)
    of_thread += load_cg(groups.group_sums + i);
  const float of_all = ordered_block_sum<kBlock>(of_thread);
  if (threadIdx.x == 0) *total = of_all;
}

Variant tile_last_block() {
  Variant v = variant("tile_last_block", "tile_per_block", {kTileLoads, true}, always<1>,
                      {{"global_reduction_requests", Direction::decreases, 100, is_large},
                       {"global_atomic_requests", Direction::increases, 100, is_large},
                       same_bytes()});
  v.without_time = "which blocks sum the partial sums is decided at run time";
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

// ---- cooperative: a grid-wide barrier in a cooperative launch
//
// A cooperative launch guarantees that all blocks are resident, so they can wait for each other
// within the kernel. Each block stores its partial sum and waits at the barrier; then block 0 sums
// the partial sums. The cost, compared with last_block, is that every block spins on the counter
// until the last block has arrived, although only block 0 needs to wait. metric.kernels and
// dram_read_bytes are unchanged. Warps sum with cg::reduce of cooperative groups, which compiles to
// shuffles.

template <class T>
__global__ void __launch_bounds__(kBlock, kPerSm)
    cooperative_kernel(Terms<T> x, float* sums, unsigned* arrived, float* total) {
  const float sum = group_block_sum(sum_thread_part<kLoads>(x));
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  sync_grid(arrived);
  if (blockIdx.x > 0) return;
  float of_thread = 0.0f;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += kBlock)
    of_thread += load_cg(sums + i);
  const float of_all = group_block_sum(of_thread);
  if (threadIdx.x == 0) *total = of_all;
}

Variant cooperative() {
  Variant v = in_one_kernel(
      variant("cooperative", "last_block", {kLoads, true}, always<1>,
              {{"metric.kernels", Direction::unchanged}, same_bytes()}),
      [](auto zero) { return cooperative_kernel<decltype(zero)>; }, persistent_blocks);
  v.without_time = "waits between blocks are not modelled";
  v.launch = [one_by_one = v.launch](const Problem& p, const Data& d, const LaunchContext& x) {
    Steps steps = one_by_one(p, d, x);
    std::get<KernelStep>(steps.all().back().action).cooperative = true;
    return steps;
  };
  return v;
}

// ---- bulk_copies: cp.async.bulk to shared memory
//
// One thread of each block issues cp.async.bulk copies of 16 KiB from global to shared memory, and
// the block sums from shared memory: global_load_requests decreases to almost zero. Bytes in flight
// need no registers: three blocks with four stages have 3 × 4 × 16 = 192 KiB in flight per SM.
// metric.bytes_in_flight_per_thread increases, and dram_read_bytes is unchanged. The cost is this
// shared memory, and a block barrier before each refill of a 16 KiB stage.

constexpr int kBulkPerSm = 3;
constexpr int kStages = 4;
constexpr int kStageBytes = 16384;
constexpr int kStageVectors = kStageBytes / kVectorBytes / kBlock;  // per thread

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
    sum += sum_vectors<kStageVectors>(stage + threadIdx.x * kWidth<T>, kBlock * kWidth<T>);
    __syncthreads();  // all threads have read the stage
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
// kernel starts and loads partial sums. The cost is bandwidth: only one SM has loads in flight, 8 ×
// 16 bytes per thread. With more than a few loads per thread, one_block is slower than two_kernels.

// One block per SM: ptxas can keep eight vectors in registers.
constexpr int kLargeBlock = 1024;

template <class T>
__global__ void __launch_bounds__(kLargeBlock, 1) one_block_kernel(Terms<T> x, float* sum) {
  const float of_block = ordered_block_sum<kLargeBlock>(sum_thread_part<kLoads>(x));
  if (threadIdx.x == 0) *sum = of_block;
}

// Sets a launch of `blocks` blocks of 1024 threads, which form one cluster.
Variant on_few_blocks(Variant v, int blocks, Kernels kernels) {
  v.unsupported = [=](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    const std::int64_t most = std::int64_t{blocks} << 22;
    if (p.n > most)
      return "needs n <= " + std::to_string(most) + ": larger arrays take too long on so few SMs";
    return std::nullopt;
  };
  v.shown_at = {{"n", kFewElements}};
  v.launch = [=](const Problem& p, const Data& d, const LaunchContext&) {
    Shape s = shape_of_blocks(blocks, kLargeBlock);
    s.cluster = {blocks, 1, 1};
    return launch_sum(kernels, s, p, d, d.sum);
  };
  return v;
}

Variant one_block() {
  return on_few_blocks(
      variant("one_block", "two_kernels", {kLoads, true}, always<1>,
              {fewer_kernels(), {"time_median_us", Direction::decreases, 1.2, is_small}}),
      1, {one_block_kernel, one_block_kernel});
}

// ---- one_cluster: eight blocks with distributed shared memory
//
// The eight blocks of a cluster run at the same time on SMs of one GPC and synchronize with a
// hardware barrier. The first block then loads the other blocks' sums from their shared memory.
// metric.kernels is unchanged, and eight SMs have loads in flight instead of one. The cost is two
// cluster barriers and the per-block sums: warp_instructions increases for small arrays. Clusters
// need compute capability 9.0.

template <class T>
__global__ void __launch_bounds__(kLargeBlock, 1) cluster_kernel(Terms<T> x, float* sum) {
  __shared__ float of_block;
  const float own = ordered_block_sum<kLargeBlock>(sum_thread_part<kLoads>(x));
  if (threadIdx.x == 0) of_block = own;
  sync_cluster();
  if (cluster_rank() == 0 && threadIdx.x == 0) {
    float of_all = 0.0f;
    for (unsigned rank = 0; rank < kMaxClusterBlocks; ++rank)
      of_all +=
          __uint_as_float(load_cluster_shared(map_shared_rank(shared_address(&of_block), rank)));
    *sum = of_all;
  }
  sync_cluster();  // no block exits before the first block has read its sum
}

Variant one_cluster() {
  return needs_capability(
      on_few_blocks(variant("one_cluster", "one_block", {kLoads, true}, always<1>,
                            {{"metric.kernels", Direction::unchanged},
                             {"warp_instructions", Direction::increases, 1.5, is_small}}),
                    kMaxClusterBlocks, {cluster_kernel, cluster_kernel}),
      kClusterComputeCapability);
}

// ---- cub
//
// cub::DeviceReduce, the library baseline. It launches two kernels, as two_kernels does, or one
// kernel of one block for small arrays.

Variant vendor_cub() {
  return cub_sum("two_kernels");
}

// ---- declaration

Family declare() {
  Family f("grid_sum", Topic::patterns, "Which method combines per-block partial sums fastest?");
  f.physics =
      "Blocks of a grid run in any order, and the only barrier between them without further "
      "conditions is the end of a kernel. Their partial sums are combined by a second kernel, by "
      "atomic additions in L2, by the last block that finishes, or after a barrier of blocks that "
      "are all resident. A kernel takes time to start and to end, and counters must be cleared. "
      "This takes most of the time of a small sum; the time of a large sum is its bytes over "
      "bandwidth. Atomic additions of floats arrive in any order and round differently each time. "
      "In all other variants the code fixes the order, so results are bitwise identical in every "
      "launch.";
  declare_sums(f);
  f.plot("grid_sum", "swept_times", "Sum over the grid: time by variant");
  f.variants(two_kernels(), programmatic(), atomic_per_block(), tile_per_block(), tile_hinted(),
             last_block(), tile_last_block(), cooperative(), bulk_copies(), one_block(),
             one_cluster(), vendor_cub());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::grid_sum
