// scan: prefix sums; each output is the sum of an element and of all elements before it.
//
// The question: what does a prefix sum cost compared with a copy? Blocks scan tiles concurrently,
// and the sum of all earlier tiles must be added to each tile.
//
// Within a block, Hillis and Steele (CACM 29, 1986) use n·log2(n) additions in log2(n) steps,
// Blelloch (Prefix Sums and Their Applications, 1990) 2·n additions in twice as many steps. With
// warp shuffles and several elements per thread, this difference does not matter.
#include "gpu/cub_scan.hpp"
#include "kernels/common/copy_limit.cuh"
#include "kernels/common/family.cuh"
#include "kernels/common/look_back.cuh"
#include "kernels/common/tile_scan.cuh"
#include "kernels/scan/reference.cuh"

namespace gpuexp::scan {

template <class T>
struct Numbers {
  const T* at;
  T* sums;
  std::int64_t n;
};

constexpr int kBlock = kScanBlock;

// ---- hillis_steele: Hillis-Steele scan in shared memory
//
// A block scans 256 elements, one per thread. In eight steps each thread adds the value of the
// thread 1, 2, 4, … before it. All warps execute all steps. Further launches scan the per-block
// sums in the same way, and a last kernel adds them to the elements of later blocks. Two kernels
// therefore load and store the array, and dram_read_bytes is twice that of a copy.
// global_load_requests increases.
// held: dram_read_bytes = 2 × copy within 3 %
// held: barriers_per_block = 9 at n=1048576

template <class T>
__global__ void __launch_bounds__(kBlock) hillis_steele_kernel(Numbers<T> x, T* of_blocks) {
  __shared__ T s[2][kBlock];
  const unsigned me = threadIdx.x;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + me;
  T sum = i < x.n ? x.at[i] : T{};
  int now = 0;
  s[now][me] = sum;
  __syncthreads();
#pragma unroll 1
  for (unsigned step = 1; step < kBlock; step *= 2) {
    if (me >= step) sum += s[now][me - step];
    now ^= 1;
    s[now][me] = sum;
    __syncthreads();
  }
  if (i < x.n) x.sums[i] = sum;
  if (me == kBlock - 1) of_blocks[blockIdx.x] = sum;
}

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

template <class T>
Numbers<T> numbers(const Problem& p, const Data& d) {
  return {static_cast<const T*>(d.x), static_cast<T*>(d.sums), p.n};
}

std::int64_t bytes_of(const Problem& p) {
  return p.n * static_cast<std::int64_t>(size_of(p.dtype));
}

Work work(const Problem& p) {
  return streaming_work<char>(
      bytes_of(p), bytes_of(p),
      {{p.dtype == DataType::fp32 ? Pipe::fp32 : Pipe::int32, static_cast<double>(p.n)}});
}

Variant variant(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.writes = {"sums"};
  v.deterministic = true;
  v.work = work;
  return v;
}

constexpr auto is_large = at_least(&Problem::n, 1 << 22);  // every resident thread has elements
constexpr auto is_huge = at_least(&Problem::n, 1 << 28);   // the array is much larger than L2

ExpectedChangeOf<Problem> same_bytes() {
  return {"dram_read_bytes", Direction::unchanged, 1.1, is_huge};
}

// ---- copy: the same bytes in order, the lower bound on time
//
// Each thread loads 16 bytes and stores them. A scan loads and stores the same bytes, so it takes
// at least this time.

Variant copy() {
  Variant v = variant("copy", "", {});
  v.writes = {"copied"};
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    const auto element = static_cast<std::int64_t>(size_of(p.dtype));
    return copy_limit(d.x, d.copied, bytes_of(p), {kCopyBlockBytes / element, 1, 1});
  };
  return v;
}

// Scans the tiles, and then, level by level, the tile sums. of_tiles holds the sums of one level
// after another.
template <int kTile, class Kernel, class T>
Steps scan_levels(Kernel kernel, const Numbers<T>& x, T* of_tiles) {
  const std::int64_t tiles = ceil_div(x.n, kTile);
  Steps steps = launch(kernel, one_block_per_tile(x.n, kTile), x, of_tiles);
  if (tiles == 1) return steps;
  return std::move(steps) +
         scan_levels<kTile>(kernel, Numbers<T>{of_tiles, of_tiles, tiles}, of_tiles + tiles) +
         launch(add_before_tile_kernel<kTile, T>, one_block_per_tile(x.n, kBlock * kVectorElements),
                x.sums, x.n, of_tiles);
}

// `kernel_of(zero)` returns the kernel for the element type of `zero`.
template <int kTile, class KernelOf>
Variant in_levels(Variant v, KernelOf kernel_of) {
  v.workspace_bytes = [](const Problem& p, const DeviceSpec&) {
    // Each level has at most half as many sums as the one before, or one.
    return (2 * ceil_div(p.n, kTile) + 1) * std::int64_t{sizeof(float)};
  };
  v.launch = [=](const Problem& p, const Data& d, const LaunchContext& x) {
    return of_type(p, [&](auto zero) {
      using T = decltype(zero);
      return scan_levels<kTile>(kernel_of(zero), numbers<T>(p, d), static_cast<T*>(x.workspace));
    });
  };
  return v;
}

Variant hillis_steele() {
  return in_levels<kBlock>(variant("hillis_steele", "copy",
                                   {{"dram_read_bytes", Direction::increases, 1.8, is_huge},
                                    {"global_load_requests", Direction::increases, 4, is_large}}),
                           [](auto zero) { return hillis_steele_kernel<decltype(zero)>; });
}

// ---- blelloch: up-sweep and down-sweep over a tree
//
// A block of 256 threads scans 512 elements in one array. In the up-sweep, pairs, pairs of pairs, …
// store their sum in their last element. In the down-sweep, each node passes the sum before it to
// its left child, and this sum plus the left child's sum to its right child. This takes 2·n
// additions instead of n·log2(n), in 18 steps with a barrier each. The cost is bank conflicts: at
// stride s, neighbouring lanes' words are 2s apart, and 256/s lanes are active. Up to 16 lanes
// access one bank, at s = 8 and 16: shared_bank_conflicts and shared_load_wavefronts increase.
// dram_read_bytes is unchanged.
// held: bank_conflict = 16 at n=1048576

constexpr int kPairs = 2 * kBlock;  // elements per block

// Returns the index of element i in shared memory; with padding, one word is unused after each 32.
template <bool kPadded>
__device__ __forceinline__ unsigned word_of(unsigned i) {
  return kPadded ? i + i / kWarp : i;
}

template <bool kPadded, class T>
__device__ __forceinline__ void up_sweep(T* s) {
  const unsigned me = threadIdx.x;
  unsigned step = 1;
#pragma unroll 1
  for (unsigned nodes = kBlock; nodes > 0; nodes /= 2, step *= 2) {
    __syncthreads();
    if (me < nodes)
      s[word_of<kPadded>(step * (2 * me + 2) - 1)] += s[word_of<kPadded>(step * (2 * me + 1) - 1)];
  }
}

// The down-sweep: replaces each element by the sum of the elements before it.
template <bool kPadded, class T>
__device__ __forceinline__ void down_sweep(T* s) {
  const unsigned me = threadIdx.x;
  unsigned step = kBlock;
#pragma unroll 1
  for (unsigned nodes = 1; nodes <= kBlock; nodes *= 2, step /= 2) {
    __syncthreads();
    if (me >= nodes) continue;
    T& left = s[word_of<kPadded>(step * (2 * me + 1) - 1)];
    T& right = s[word_of<kPadded>(step * (2 * me + 2) - 1)];
    const T of_left = left;
    left = right;
    right += of_left;
  }
  __syncthreads();
}

template <bool kPadded, class T>
__global__ void __launch_bounds__(kBlock) blelloch_kernel(Numbers<T> x, T* of_blocks) {
  __shared__ T s[kPairs + (kPadded ? kPairs / kWarp : 0)];
  const unsigned me = threadIdx.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kPairs + me;
  const T one = first < x.n ? x.at[first] : T{};
  const T other = first + kBlock < x.n ? x.at[first + kBlock] : T{};
  s[word_of<kPadded>(me)] = one;
  s[word_of<kPadded>(me + kBlock)] = other;
  up_sweep<kPadded>(s);
  if (me == 0) {  // thread 0 performed the last addition
    of_blocks[blockIdx.x] = s[word_of<kPadded>(kPairs - 1)];
    s[word_of<kPadded>(kPairs - 1)] = T{};
  }
  down_sweep<kPadded>(s);
  if (first < x.n) x.sums[first] = s[word_of<kPadded>(me)] + one;
  if (first + kBlock < x.n) x.sums[first + kBlock] = s[word_of<kPadded>(me + kBlock)] + other;
}

Variant blelloch() {
  return in_levels<kPairs>(variant("blelloch", "hillis_steele",
                                   {{"shared_bank_conflicts", Direction::increases, 10, is_large},
                                    {"shared_load_wavefronts", Direction::increases, 3, is_large},
                                    same_bytes()}),
                           [](auto zero) { return blelloch_kernel<false, decltype(zero)>; });
}

// ---- blelloch_padded: one padding word per 32 words
//
// One unused word follows each 32 words of the array in shared memory. Words at a stride of 2^s are
// then at a stride of 2^s + 2^s/32, in different banks: shared_bank_conflicts and
// shared_load_wavefronts decrease to a fraction. The cost is a shift and an addition per address.
// dram_read_bytes is unchanged.

Variant blelloch_padded() {
  return in_levels<kPairs>(variant("blelloch_padded", "blelloch",
                                   {{"shared_bank_conflicts", Direction::decreases, 4, is_large},
                                    {"shared_load_wavefronts", Direction::decreases, 3, is_large},
                                    same_bytes()}),
                           [](auto zero) { return blelloch_kernel<true, decltype(zero)>; });
}

// ---- warp_shuffles: warp shuffles instead of shared memory
//
// A warp scans its 32 elements in registers, with five __shfl_up_sync. Eight words of shared
// memory, one per warp, pass the sums of the warps to the later warps. Barriers decrease from nine
// to one, and shared_load_wavefronts, shared_store_wavefronts and warp_instructions decrease.
// dram_read_bytes is unchanged.
// held: barriers_per_block = 1 at n=1048576

template <class T>
__global__ void __launch_bounds__(kBlock) shuffle_kernel(Numbers<T> x, T* of_blocks) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  T sum = inclusive_scan_lanes(i < x.n ? x.at[i] : T{});
  const BlockSums<T> block = block_sums<kBlock>(__shfl_sync(kAllLanes, sum, kWarp - 1));
  sum += block.before;
  if (i < x.n) x.sums[i] = sum;
  if (threadIdx.x == 0) of_blocks[blockIdx.x] = block.all;
}

Variant warp_shuffles() {
  return in_levels<kBlock>(variant("warp_shuffles", "hillis_steele",
                                   {{"shared_load_wavefronts", Direction::decreases, 1.5, is_large},
                                    {"shared_store_wavefronts", Direction::decreases, 4, is_large},
                                    {"warp_instructions", Direction::decreases, 1.2, is_large},
                                    same_bytes()}),
                           [](auto zero) { return shuffle_kernel<decltype(zero)>; });
}

// ---- vectors: 16 elements per thread
//
// A thread holds four 16-byte vectors in registers and scans each of them sequentially. The
// shuffles then process one sum per vector instead of one element, and shared memory one sum per
// warp: global_load_requests and warp_instructions decrease. A thread has 4 × 16 = 64 bytes in
// flight instead of 4. dram_read_bytes is unchanged.

constexpr int kVectors = 4;
constexpr std::int64_t kTile = kTileElements<kBlock, kVectors>;

template <class T>
__global__ void __launch_bounds__(kBlock) vector_kernel(Numbers<T> x, T* of_tiles) {
  Vector4<T> held[kVectors];
  load_tile<kBlock>(x.at, x.n, blockIdx.x, held);
  const BlockSums<T> block = block_sums<kBlock>(inclusive_scan_warp(held));
  store_tile<kBlock>(x.sums, x.n, blockIdx.x, held, block.before);
  if (threadIdx.x == 0) of_tiles[blockIdx.x] = block.all;
}

Variant vectors() {
  return in_levels<kTile>(variant("vectors", "warp_shuffles",
                                  {{"global_load_requests", Direction::decreases, 2, is_large},
                                   {"warp_instructions", Direction::decreases, 1.5, is_large},
                                   same_bytes()}),
                          [](auto zero) { return vector_kernel<decltype(zero)>; });
}

// ---- three_pass: reduce, scan the sums, then scan the tiles
//
// The first kernel stores only the sum of each tile. One block scans these sums. The third kernel
// loads the tiles again, scans them, and adds the sum of all earlier tiles before it stores. Two
// kernels load the array, but only one stores it: dram_write_bytes decreases to half,
// global_store_requests decreases, and dram_read_bytes is unchanged. The cost is that both kernels
// add each element.
// held: dram_write_bytes = 1/2 × vectors within 3 %

template <class T>
__global__ void __launch_bounds__(kBlock) sum_kernel(Numbers<T> x, T* of_tiles) {
  Vector4<T> held[kVectors];
  load_tile<kBlock>(x.at, x.n, blockIdx.x, held);
  T sum = T{};
#pragma unroll
  for (const Vector4<T>& vector : held) {
#pragma unroll
    for (const T element : vector.at)
      sum += element;
  }
  const BlockSums<T> block = block_sums<kBlock>(warp_sum(sum));
  if (threadIdx.x == 0) of_tiles[blockIdx.x] = block.all;
}

template <class T>
__global__ void __launch_bounds__(kBlock) scan_tile_kernel(Numbers<T> x, const T* up_to_tiles) {
  Vector4<T> held[kVectors];
  load_tile<kBlock>(x.at, x.n, blockIdx.x, held);
  const BlockSums<T> block = block_sums<kBlock>(inclusive_scan_warp(held));
  const T before = exclusive_tile_prefix(up_to_tiles, blockIdx.x);
  store_tile<kBlock>(x.sums, x.n, blockIdx.x, held, before + block.before);
}

Variant three_pass() {
  Variant v = variant("three_pass", "vectors",
                      {{"dram_write_bytes", Direction::decreases, 1.8, is_huge},
                       {"global_store_requests", Direction::decreases, 1.9, is_large},
                       same_bytes()});
  v.workspace_bytes = [](const Problem& p, const DeviceSpec&) {
    return ceil_div(p.n, kTile) * std::int64_t{sizeof(float)};
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return of_type(p, [&](auto zero) {
      using T = decltype(zero);
      auto* const of_tiles = static_cast<T*>(x.workspace);
      const Shape s = one_block_per_tile(p.n, kTile);
      return launch(sum_kernel<T>, s, numbers<T>(p, d), of_tiles) + scan_sums(of_tiles, s.grid.x) +
             launch(scan_tile_kernel<T>, s, numbers<T>(p, d), of_tiles);
    });
  };
  return v;
}

// ---- chained: one pass, each tile waits for the previous tile
//
// A block gets the number of its tile from an atomic counter (a ticket) and scans the tile in
// registers. It waits until the block of the previous tile has published the sum of all elements up
// to that tile's end, adds the sum of its own tile and publishes the result. Each element is loaded
// once and stored once: dram_read_bytes decreases to half, and dram_write_bytes is unchanged. The
// cost is a chain of all tiles: each step passes a word from one SM through L2 to another. The
// chain determines the time.

// One tile per block. A block looks back at 32·kWords tiles at once, or at one tile if kWords is 0.
template <int kHeld, int kWords, class T>
__global__ void __launch_bounds__(kBlock, kHeld > kVectors ? 4 : 6)
    one_pass_kernel(Numbers<T> x, TileStates states) {
  const std::int64_t tile = take_tile(states);
  Vector4<T> held[kHeld];
  load_tile<kBlock>(x.at, x.n, tile, held);
  const BlockSums<T> block = block_sums<kBlock>(inclusive_scan_warp(held));
  const T before = block_exclusive_prefix<kWords>(states, tile, block.all);
  store_tile<kBlock>(x.sums, x.n, tile, held, before + block.before);
}

template <int kHeld, int kWords>
Variant in_one_pass(Variant v) {
  constexpr std::int64_t kHeldTile = kTileElements<kBlock, kHeld>;
  constexpr int kWindow = kWords > 0 ? kWords * kWarp : 1;
  v.deterministic = kWords == 0;  // integer sums are the same with any window
  v.metrics = [=](const Problem&, const DeviceSpec&) {
    return MetricValues{{"tile", kHeldTile}, {"window", kWindow}};
  };
  v.workspace_bytes = [](const Problem& p, const DeviceSpec&) {
    return tile_state_bytes(ceil_div(p.n, kHeldTile));
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    const Shape s = one_block_per_tile(p.n, kHeldTile);
    return clear_tile_states(x.workspace, s.grid.x) + of_type(p, [&](auto zero) {
             using T = decltype(zero);
             return launch(one_pass_kernel<kHeld, kWords, T>, s, numbers<T>(p, d),
                           tile_states(x.workspace));
           });
  };
  return without_predicted_time(std::move(v));
}

Variant chained() {
  return in_one_pass<kVectors, 0>(
      variant("chained", "three_pass",
              {{"dram_read_bytes", Direction::decreases, 1.8, is_huge},
               {"dram_write_bytes", Direction::unchanged, 1.1, is_huge}}));
}

// ---- look_back: decoupled look-back over 32 tiles
//
// A block publishes the sum of its own tile before it waits for other tiles. A warp loads the
// states of the 32 previous tiles at once and sums them. It continues with the 32 tiles before,
// until it reaches a tile that has published the sum of all elements up to its end. The chain of
// tiles becomes a chain of windows of 32 tiles (metric.window), and the time decreases to a
// fraction (time_median_us). dram_read_bytes is unchanged. fp32 sums differ in their last bits
// between launches.
// held: blocks_per_sm = 6

Variant look_back() {
  return in_one_pass<kVectors, 1>(
      variant("look_back", "chained",
              {{"metric.window", Direction::increases, 30},
               {std::string(kTimeColumn), Direction::decreases, 3, is_huge},
               same_bytes()}));
}

// ---- look_back_large: tiles of 32 elements per thread
//
// Each thread holds 32 elements, a block 32 KiB (metric.tile). Half as many tiles need half as many
// look-backs, states and tickets: global_atomic_requests decreases to half. dram_read_bytes is
// unchanged. The cost is registers: four blocks per SM are resident instead of six.
// held: global_atomic_requests = 1/2 × look_back at n=1048576; blocks_per_sm = 4

Variant look_back_large() {
  return in_one_pass<2 * kVectors, 1>(
      variant("look_back_large", "look_back",
              {{"global_atomic_requests", Direction::decreases, 1.9, is_large},
               {"metric.tile", Direction::increases, 2},
               same_bytes()}));
}

// ---- look_back_wide: look-back over 128 tiles
//
// A lane loads the states of four tiles before it waits for the first, so a window has four times
// as many tiles (metric.window). If the nearest tile with a complete sum is more than 32 tiles
// away, this saves round trips to L2. If it is nearer, three loads of each lane are useless.
// dram_read_bytes is unchanged.
// held: metric.window = 4 × look_back_large

Variant look_back_wide() {
  return in_one_pass<2 * kVectors, 4>(
      variant("look_back_wide", "look_back_large",
              {{"metric.window", Direction::increases, 4}, same_bytes()}));
}

// ---- cub
//
// cub::DeviceScan::InclusiveSum, the library baseline. It looks back, too, but without tickets: a
// block scans the tile of its block index, which assumes that blocks start in the order of their
// indices.

Variant vendor_cub() {
  Variant v = variant("cub", "look_back", {});
  v.is_vendor = true;
  v.deterministic = false;
  v.workspace_bytes = [](const Problem& p, const DeviceSpec&) {
    return cub::scan_workspace_bytes(p.n);
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return cub::step_of(cub::InclusiveSum{p.dtype, p.n, d.x, d.sums, x.workspace});
  };
  return v;
}

// ---- declaration

Family declare() {
  Family f("scan", Topic::patterns, "What does a prefix sum cost compared with a copy?");
  f.physics =
      "A prefix sum loads each element once and stores a sum for each, as a copy does, so the time "
      "of a copy is its lower bound. Within a block, sums pass through shared memory or registers, "
      "which is cheap with several elements per thread. Between blocks, the end of a kernel is a "
      "barrier without further conditions, but the next kernel must load or store the array again. "
      "Blocks that wait for the previous tiles load and store it once. If each waits for one tile, "
      "every tile adds the latency of L2. A look-back over many tiles at once takes a part of this "
      "latency, which is hidden if tiles are large enough. A block may wait only for blocks that "
      "have started: tickets assign tiles in the order in which blocks start.";
  f.extent("n", &Problem::n, std::int64_t{1} << 28, (std::int64_t{1} << 31) - 1,
           "number of elements")
      .choice("dtype", &Problem::dtype, {{"int32", DataType::int32}, {"fp32", DataType::fp32}},
              "type of elements and sums; int32 elements are integers in [-64, 64], fp32 elements "
              "are in [-1, 1)");
  f.input("x", &Data::x, &Problem::dtype, &Problem::n)
      .output("sums", &Data::sums, &Problem::dtype, &Problem::n)
      .output("copied", &Data::copied, &Problem::dtype, &Problem::n,
              [](const Problem&) { return Tolerance{}; });
  f.metric("tile", "", "elements per tile, in variants whose blocks wait for earlier tiles");
  f.metric("window", "", "number of earlier tiles whose states a block reads at once");
  f.plot("scan", "share_of_copy", "Prefix sum: throughput relative to a copy",
           {{"param.dtype", "type"}});
  f.inputs = inputs;
  f.reference = reference;
  f.tolerance = tolerance;
  f.tolerance_derivation =
      "int32: zero. Sums of integers in [-64, 64] stay below 2^31, because they are a random walk. "
      "fp32: each addition rounds its result s by at most u·|s|, u = 2^-24, and |error| <= "
      "u·√(2·ln(2/δ))·√(sum of all s²) with a probability of 1 - δ (Hallman and Ipsen, Numerische "
      "Mathematik 155, 2023); δ = e^-32. Elements have random signs, so the sum of all s² is at "
      "most d times the sum of all squares if a term takes part in d additions. For sum i, "
      "sequential tiles of at least 1024 elements contribute i/1024 to d, and trees and threads "
      "fewer than 64. Its squares sum to (i + 1)/3, and to 4·√(i + 1) more with a probability of "
      "e^-32 (Hoeffding). The RMS error of the model is 0.42·u (Knuth) times the RMS of √(d·(i + "
      "1)/3) over all i. Twice this error is allowed for effects that the model leaves out, and "
      "twice again for roundings that many sums share: the error along a chain of tiles is a "
      "random walk, whose mean square exceeds 48 times its expectation with a probability of "
      "e^-29. Chained tiles have 3072 elements or more, so d is three times the number of "
      "additions that they perform.";
  f.variants(copy(), hillis_steele(), blelloch(), blelloch_padded(), warp_shuffles(), vectors(),
             three_pass(), chained(), look_back(), look_back_large(), look_back_wide(),
             vendor_cub());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::scan
