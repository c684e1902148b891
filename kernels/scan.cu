// scan: the sum of each element and of all before it.
//
// The question: what does it take that n sums, each of which needs the one before, come at the rate
// of a copy? n elements are read and n sums written, one addition per 8 bytes: a copy's bytes are
// the least time. A loop would add one after the other. Blocks scan their tiles beside each other,
// and what the tiles before have adds to each, which somebody has to find out: further kernels that
// read or write everything once more, or the blocks themselves, who then wait for each other.
//
// Within a block two ways have names: Hillis and Steele (CACM 29, 1986) add n·log2(n) times in
// log2(n) steps, Blelloch (Prefix Sums and Their Applications, 1990) 2·n times in twice as many.
// Shuffles within warps, and more elements per thread, make both unimportant.
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

// ---- hillis_steele: each adds what is 1, 2, 4, … before it
//
// A block has 256 elements, one per thread. In eight steps each thread adds the sum of the thread
// 1, 2, 4, … before it, from one of two arrays in shared memory to the other. All are at work in
// all steps. Blocks' sums are scanned by further launches in the same way, and a last kernel adds
// them to all elements of the blocks behind: two kernels load and store the array, and
// dram_read_bytes is twice that of a copy.
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
constexpr auto is_huge = at_least(&Problem::n, 1 << 28);   // L2 is a small part of what moves

ExpectedChangeOf<Problem> same_bytes() {
  return {"dram_read_bytes", Direction::unchanged, 1.1, is_huge};
}

// ---- copy: the limit
//
// The same bytes in their order, one 16-byte load and store per thread. It adds nothing; its time
// is what a scan can reach at best.

Variant copy() {
  Variant v = variant("copy", "", {});
  v.writes = {"copied"};
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    const auto element = static_cast<std::int64_t>(size_of(p.dtype));
    return copy_limit(d.x, d.copied, bytes_of(p), {kCopyBlockBytes / element, 1, 1});
  };
  return v;
}

// Scans tiles, and then, level by level, their sums, which it puts behind each other.
template <int kTile, class Kernel, class T>
Steps scan_levels(Kernel kernel, const Numbers<T>& x, T* of_tiles) {
  const std::int64_t tiles = ceil_div(x.n, kTile);
  Steps steps = launch(kernel, blocks_of(x.n, kTile), x, of_tiles);
  if (tiles == 1) return steps;
  return std::move(steps) +
         scan_levels<kTile>(kernel, Numbers<T>{of_tiles, of_tiles, tiles}, of_tiles + tiles) +
         launch(add_before_tile_kernel<kTile, T>, blocks_of(x.n, kBlock * kInVector), x.sums, x.n,
                of_tiles);
}

// `kernel_of` gives the kernel for a zero of the elements' type.
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
// A block of 256 threads scans 512 elements in one array. In the up-sweep pairs, pairs of pairs, …
// leave their sum in the last element of each. In the down-sweep each node hands its left child the
// sum before it, and its right child that plus the left child's sum. This takes 2·n additions
// instead of n·log2(n), in 18 steps with a barrier each. The cost is bank conflicts: at stride s
// neighbouring lanes' words are 2s apart, and 256/s lanes are active. Up to 16 lanes access one
// bank, at s = 8 and 16: shared_bank_conflicts and shared_load_wavefronts increase. dram_read_bytes
// is unchanged.
// held: bank_conflict = 16 at n=1048576

constexpr int kPairs = 2 * kBlock;  // elements of a block

// Where element i lies: with padding, a word is left out behind each 32.
template <bool kPadded>
__device__ __forceinline__ unsigned word_of(unsigned i) {
  return kPadded ? i + i / kWarp : i;
}

template <bool kPadded, class T>
__device__ __forceinline__ void sum_up_tree(T* s) {
  const unsigned me = threadIdx.x;
  unsigned step = 1;
#pragma unroll 1
  for (unsigned nodes = kBlock; nodes > 0; nodes /= 2, step *= 2) {
    __syncthreads();
    if (me < nodes)
      s[word_of<kPadded>(step * (2 * me + 2) - 1)] += s[word_of<kPadded>(step * (2 * me + 1) - 1)];
  }
}

// Each element becomes the sum of those before it.
template <bool kPadded, class T>
__device__ __forceinline__ void hand_down_tree(T* s) {
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
  sum_up_tree<kPadded>(s);
  if (me == 0) {  // whose addition was the last
    of_blocks[blockIdx.x] = s[word_of<kPadded>(kPairs - 1)];
    s[word_of<kPadded>(kPairs - 1)] = T{};
  }
  hand_down_tree<kPadded>(s);
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

// ---- blelloch_padded: a word left out behind each 32
//
// Words that were 2^s apart are 2^s + 2^s/32 apart, and fall into other banks:
// shared_bank_conflicts falls to a fraction, as do the wavefronts of shared memory. It costs a
// shift and an addition per address.

Variant blelloch_padded() {
  return in_levels<kPairs>(variant("blelloch_padded", "blelloch",
                                   {{"shared_bank_conflicts", Direction::decreases, 4, is_large},
                                    {"shared_load_wavefronts", Direction::decreases, 3, is_large},
                                    same_bytes()}),
                           [](auto zero) { return blelloch_kernel<true, decltype(zero)>; });
}

// ---- warp_shuffles: registers in place of shared memory
//
// A warp scans its 32 elements by five __shfl_up_sync, and eight words of shared memory, one per
// warp, say what the warps before have. Barriers fall from nine to one, the wavefronts of shared
// memory to few, and warp_instructions with them. All of it is work of the SM; the bytes are the
// same.
// held: barriers_per_block = 1 at n=1048576

template <class T>
__global__ void __launch_bounds__(kBlock) shuffle_kernel(Numbers<T> x, T* of_blocks) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  T sum = sum_up_to_lane(i < x.n ? x.at[i] : T{});
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
// A thread holds four vectors of 16 bytes in registers and adds up each by itself; shuffles come in
// per vector, shared memory per thread. global_load_requests and warp_instructions fall, and a
// thread has 4 × 16 = 64 bytes in flight in place of 4. A tile is 64 / 4 = 16 times as large.

constexpr int kVectors = 4;
constexpr std::int64_t kTile = kTileOf<kBlock, kVectors>;

template <class T>
__global__ void __launch_bounds__(kBlock) vector_kernel(Numbers<T> x, T* of_tiles) {
  FourOf<T> held[kVectors];
  load_tile<kBlock>(x.at, x.n, blockIdx.x, held);
  const BlockSums<T> block = block_sums<kBlock>(sum_up_in_warp(held));
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

// ---- three_pass: sums first
//
// The first kernel adds up tiles and writes their sums alone; one block scans these; the third
// kernel reads the tiles again, scans them, and adds what is before them as it writes. The array is
// loaded by two kernels and stored by one: dram_write_bytes falls to half, dram_read_bytes stays.
// It costs that both kernels add up each element.
// held: dram_write_bytes = 1/2 × vectors within 3 %

template <class T>
__global__ void __launch_bounds__(kBlock) sum_kernel(Numbers<T> x, T* of_tiles) {
  FourOf<T> held[kVectors];
  load_tile<kBlock>(x.at, x.n, blockIdx.x, held);
  T sum = T{};
#pragma unroll
  for (const FourOf<T>& vector : held) {
#pragma unroll
    for (const T element : vector.at)
      sum += element;
  }
  const BlockSums<T> block = block_sums<kBlock>(warp_sum(sum));
  if (threadIdx.x == 0) of_tiles[blockIdx.x] = block.all;
}

template <class T>
__global__ void __launch_bounds__(kBlock) scan_tile_kernel(Numbers<T> x, const T* up_to_tiles) {
  FourOf<T> held[kVectors];
  load_tile<kBlock>(x.at, x.n, blockIdx.x, held);
  const BlockSums<T> block = block_sums<kBlock>(sum_up_in_warp(held));
  const T before = before_tile(up_to_tiles, blockIdx.x);
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
      const Shape s = blocks_of(p.n, kTile);
      return launch(sum_kernel<T>, s, numbers<T>(p, d), of_tiles) + scan_sums(of_tiles, s.grid.x) +
             launch(scan_tile_kernel<T>, s, numbers<T>(p, d), of_tiles);
    });
  };
  return v;
}

// ---- chained: one pass, each tile waits for the one before
//
// A block takes a tile by a ticket, scans it in registers, waits until the tile before has said
// what all elements up to there add up to, and says the same of its own. Each element is read once
// and written once: dram_read_bytes falls to half. But tiles follow each other at the time that a
// word takes from one SM through L2 to another, some hundred nanoseconds, in which memory could
// have delivered many tiles: the chain is as long as there are tiles, and all of the time. The
// states of the tiles are cleared for each launch.

// Looks at kWords times 32 tiles at once; 0: at one.
template <int kHeld, int kWords, class T>
__global__ void __launch_bounds__(kBlock, kHeld > kVectors ? 4 : 6)
    one_pass_kernel(Numbers<T> x, TileStates states) {
  const std::int64_t tile = take_tile(states);
  FourOf<T> held[kHeld];
  load_tile<kBlock>(x.at, x.n, tile, held);
  const BlockSums<T> block = block_sums<kBlock>(sum_up_in_warp(held));
  const T before = sum_before_block<kWords>(states, tile, block.all);
  store_tile<kBlock>(x.sums, x.n, tile, held, before + block.before);
}

template <int kHeld, int kWords>
Variant in_one_pass(Variant v) {
  constexpr std::int64_t kHeldTile = kTileOf<kBlock, kHeld>;
  constexpr int kWindow = kWords > 0 ? kWords * kWarp : 1;
  v.deterministic = kWords == 0;  // and of integers
  v.metrics = [=](const Problem&, const DeviceSpec&) {
    return MetricValues{{"tile", kHeldTile}, {"window", kWindow}};
  };
  v.workspace_bytes = [](const Problem& p, const DeviceSpec&) {
    return tile_state_bytes(ceil_div(p.n, kHeldTile));
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    const Shape s = blocks_of(p.n, kHeldTile);
    return clear_tile_states(x.workspace, s.grid.x) + of_type(p, [&](auto zero) {
             using T = decltype(zero);
             return launch(one_pass_kernel<kHeld, kWords, T>, s, numbers<T>(p, d),
                           tile_states(x.workspace));
           });
  };
  return waiting_for_tiles(std::move(v));
}

Variant chained() {
  return in_one_pass<kVectors, 0>(
      variant("chained", "three_pass",
              {{"dram_read_bytes", Direction::decreases, 1.8, is_huge},
               {"dram_write_bytes", Direction::unchanged, 1.1, is_huge}}));
}

// ---- look_back: one pass, each tile adds up what the ones before have
//
// A tile says what its own elements add up to as soon as it knows, before it waits for anyone. Who
// needs what is before looks at 32 tiles at once, adds up those, and goes on to the 32 before,
// until it meets a tile that knows the sum of all up to itself. What was a chain of tiles is one of
// looks: 32 tiles in the time of one. The bytes are the same, the time a fraction. Of fp32 sums the
// last bits depend on how far each tile had to look, and differ from launch to launch.
// held: blocks_per_sm = 6

Variant look_back() {
  return in_one_pass<kVectors, 1>(
      variant("look_back", "chained",
              {{"metric.window", Direction::increases, 30},
               {std::string(kTimeColumn), Direction::decreases, 3, is_huge},
               same_bytes()}));
}

// ---- look_back_large: larger tiles
//
// 32 elements per thread, 32 KiB per block. Tiles are half as many, and so are looks that have to
// keep up with memory, tickets (global_atomic_requests) and states. It costs registers: four blocks
// per SM in place of six.
// held: global_atomic_requests = 1/2 × look_back at n=1048576; blocks_per_sm = 4

Variant look_back_large() {
  return in_one_pass<2 * kVectors, 1>(
      variant("look_back_large", "look_back",
              {{"global_atomic_requests", Direction::decreases, 1.9, is_large},
               {"metric.tile", Direction::increases, 2},
               same_bytes()}));
}

// ---- look_back_wide: 128 tiles at once
//
// A lane asks for the states of four tiles before it waits for the first: a look reaches four times
// as far (metric.window). Where the next tile that knows all up to itself is more than 32 away,
// that saves the time of L2 once or more; where it is near, three loads of a warp were in vain.
// held: metric.window = 4 × look_back_large

Variant look_back_wide() {
  return in_one_pass<2 * kVectors, 4>(
      variant("look_back_wide", "look_back_large",
              {{"metric.window", Direction::increases, 4}, same_bytes()}));
}

// ---- cub
//
// cub::DeviceScan::InclusiveSum: what one would call, and the figure to beat. It looks back, too;
// its tiles are those of the blocks' numbers, without tickets: it trusts that blocks start in the
// order of their numbers.

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
  Family f("scan", Topic::patterns, "What does a sum up to each element cost, beside a copy?");
  f.physics =
      "A prefix sum reads each element once and writes a sum for each, as a copy does, whose time "
      "is its limit. Within a block, sums pass through shared memory or registers, which a few "
      "elements per thread make cheap. Between blocks, a kernel's end is the barrier that needs "
      "nothing, and costs that the array is read or written again. Blocks that wait for the ones "
      "before them read and write it once: one behind the other they take the latency of L2 per "
      "tile, looking back over many tiles at once a part of it, which is hidden as long as tiles "
      "are large enough. It takes that who is waited for is running: tiles are handed out by "
      "tickets.";
  f.extent("n", &Problem::n, std::int64_t{1} << 28, (std::int64_t{1} << 31) - 1, "elements")
      .choice("dtype", &Problem::dtype, {{"int32", DataType::int32}, {"fp32", DataType::fp32}},
              "of elements and sums: whole numbers in [-64, 64], or numbers in [-1, 1)");
  f.input("x", &Data::x, &Problem::dtype, &Problem::n)
      .output("sums", &Data::sums, &Problem::dtype, &Problem::n)
      .output("copied", &Data::copied, &Problem::dtype, &Problem::n,
              [](const Problem&) { return Tolerance{}; });
  f.metric("tile", "", "elements of a block that others wait for");
  f.metric("window", "", "tiles at which a block looks at once");
  f.figure("scan", "share_of_copy", "Prefix sums beside a copy", {{"param.dtype", "type"}});
  f.inputs = inputs;
  f.reference = reference;
  f.tolerance = tolerance;
  f.tolerance_derivation =
      "int32: zero. Sums of numbers in [-64, 64] stay below 2^31: they are a random walk. fp32: "
      "each addition rounds its result s by at most u·|s|, u = 2^-24, and |error| <= "
      "u·√(2·ln(2/δ))·√(sum of all s²) with a probability of 1 - δ (Hallman and Ipsen, Numerische "
      "Mathematik 155, 2023); δ = e^-32. Numbers have random signs, so that the sum of all s² is "
      "at most d times the sum of all squares, where a term goes through d additions. Of sum i, "
      "tiles of at least 1024 elements one after the other are i/1024, trees and threads fewer "
      "than 64. Its squares add up to (i + 1)/3, and 4·√(i + 1) more with a probability of e^-32 "
      "(Hoeffding). The RMS error of the model is 0.42·u (Knuth) times the RMS of √(d·(i + 1)/3) "
      "over all i. Twice that is allowed for what models leave out, and twice more for roundings "
      "that many sums share: the error along a chain of tiles is a random walk, whose mean square "
      "exceeds 48 times what is expected with a probability of e^-29; tiles of chains have 3072 "
      "elements or more, so that d is three times what they do.";
  f.variants(copy(), hillis_steele(), blelloch(), blelloch_padded(), warp_shuffles(), vectors(),
             three_pass(), chained(), look_back(), look_back_large(), look_back_wide(),
             vendor_cub());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::scan
