// compaction: the elements that satisfy a condition, next to each other.
//
// The question: who tells a kept element where it goes? Its place is the number of kept elements
// before it, a prefix sum of zeros and ones. Where their order does not matter, any place will do
// that nobody else has, and a counter in L2 gives places out, which takes additions to one address
// one after the other. Where order matters, tiles are counted first, or look back at those before.
// n elements are read and those that are kept written: reading is the least time of few, a copy's
// bytes of all.
#include <vector>

#include "gpu/cub_select.hpp"
#include "kernels/common/bound_by_atomics.cuh"
#include "kernels/common/family.cuh"
#include "kernels/common/look_back.cuh"
#include "kernels/common/prefix_reference.cuh"
#include "kernels/common/tile_scan.cuh"

namespace gpuexp::compaction {

using Word = std::uint32_t;

enum class Values {
  random,  // whoever loses the order is seen to
  alike,   // all that are kept are 0
};

struct Problem {
  std::int64_t n;
  double kept;  // share
  Values values;
};

struct Data {
  Word* x;
  Word* out;
  Word* count;
};

// Elements below the limit are kept.
struct Elements {
  const Word* at;
  std::int64_t n;
  Word limit;
};

struct Kept {
  Word* at;
  Word* count;
};

constexpr int kBlock = kScanBlock;

// ---- atomic_per_element: a counter gives places out
//
// A thread with an element to keep adds 1 to a counter, and writes to the place that the counter
// had. The order is lost. All additions are to one address, which L2 makes one after the other, as
// many as elements are kept (l2_atomic_cycles). ptxas makes one addition per warp of it where it
// knows that all lanes have one address; so it is not told: each lane's address has the element's
// highest bit in it, which is 0 of all that are kept.

__global__ void __launch_bounds__(kBlock) per_element_kernel(Elements x, Kept kept) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i >= x.n) return;
  const Word element = x.at[i];
  if (element < x.limit) kept.at[atomicAdd(kept.count + (element >> 31), 1u)] = element;
}

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// Elements are below 2^31, but for those that are not kept where kept ones are alike.
Word limit_of(const Problem& p) {
  constexpr double kAll = 1u << 31;
  return static_cast<Word>(p.kept * kAll);
}

Elements elements(const Problem& p, const Data& d) {
  return {d.x, p.n, limit_of(p)};
}

// Of so many kept as the share says, in the mean.
Work work(const Problem& p) {
  const auto kept = static_cast<std::int64_t>(p.kept * static_cast<double>(p.n));
  return reads<Word>(p.n) + writes<Word>(kept) + writes<Word>(1) +
         computes(Pipe::int32, static_cast<double>(p.n));
}

Variant variant(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.deterministic = true;
  v.work = work;
  return v;
}

constexpr auto is_large = at_least(&Problem::n, 1 << 22);  // every resident thread has elements
constexpr auto is_huge = at_least(&Problem::n, 1 << 28);   // L2 is a small part of what moves
// Where a warp has many elements to keep.
bool keeps_many(const Problem& p) {
  return is_large(p) && p.kept >= 0.25;
}

constexpr const char* kPlacesFound = "where its blocks write is found out while they run";

// Those that begin with a counter of zero, and lose the order.
Variant counting(Variant v, void (*kernel)(Elements, Kept), std::int64_t tile) {
  v.deterministic = false;
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (p.values == Values::alike) return std::nullopt;
    return "needs values = alike: it loses the order, which results are compared in";
  };
  v.launch = [=](const Problem& p, const Data& d, const LaunchContext&) {
    return Steps(MemsetStep{d.count, 0, sizeof *d.count}) +
           launch(kernel, blocks_of(p.n, tile), elements(p, d), Kept{d.out, d.count});
  };
  return v;
}

Variant atomic_per_element() {
  return bound_by_atomics(
      counting(variant("atomic_per_element", "", {}), per_element_kernel, kBlock));
}

// ---- warp_aggregated: an addition per warp
//
// The lanes vote, the first of them adds how many want a place, and each takes the one that is as
// far behind as lanes before it want one. It is what ptxas makes of an atomicAdd to an address that
// it knows to be the same. L2 has one addition per 32 elements: l2_atomic_cycles falls by as many
// as a warp keeps. They are to one address still.

__global__ void __launch_bounds__(kBlock) warp_kernel(Elements x, Kept kept) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const Word element = i < x.n ? x.at[i] : ~Word{0};
  const bool is_kept = element < x.limit;
  const unsigned votes = __ballot_sync(kAllLanes, is_kept);
  const unsigned lane = threadIdx.x % kWarp;
  Word first = 0;
  if (lane == 0 && votes != 0) first = atomicAdd(kept.count, static_cast<Word>(__popc(votes)));
  first = __shfl_sync(kAllLanes, first, 0);
  const unsigned before = votes & ((1u << lane) - 1);
  if (is_kept) kept.at[first + static_cast<Word>(__popc(before))] = element;
}

Variant warp_aggregated() {
  return bound_by_atomics(
      counting(variant("warp_aggregated", "atomic_per_element",
                       {{"l2_atomic_cycles", Direction::decreases, 5, keeps_many}}),
               warp_kernel, kBlock));
}

// ---- tile_aggregated: one atomic addition per tile
//
// A block has 4096 elements, 16 per thread in 16-byte vectors. It counts by votes how many elements
// each warp keeps, and reserves their places with one atomic addition: global_atomic_requests and
// global_load_requests decrease. Elements keep their order within a tile only. A lane stores the
// kept elements of a vector one by one. Each of a warp's four stores touches nearly all sectors of
// the others: global_store_sectors increases. L2, which serves these sectors, is the limit now.

constexpr int kVectors = 4;
constexpr std::int64_t kTile = kTileOf<kBlock, kVectors>;

template <int kVectors>
struct HeldTile {
  FourOf<Word> vectors[kVectors];
  Word before[kVectors];  // that the warp keeps before this lane's vector
};

// Loads the block's tile; returns how many the warp keeps of it. Behind the end nothing is kept.
template <int kVectors>
__device__ __forceinline__ Word load_and_count(const Elements& x, std::int64_t tile,
                                               HeldTile<kVectors>& held) {
  load_tile<kBlock>(x.at, x.n, tile, held.vectors);
  if ((tile + 1) * kTileOf < kBlock, kVectors >> x.n) {
    const std::int64_t left = x.n - first_of_thread<kBlock, kVectors>(tile);
#pragma unroll
    for (int j = 0; j < kVectors; ++j) {
#pragma unroll
      for (int k = 0; k < kInVector; ++k)
        if (j * kOfAllLanes + k >= left) held.vectors[j].at[k] = ~Word{0};
    }
  }
  const unsigned lanes_before = (1u << threadIdx.x % kWarp) - 1;
  Word of_warp = 0;
#pragma unroll
  for (int j = 0; j < kVectors; ++j) {
    held.before[j] = of_warp;
#pragma unroll
    for (const Word element : held.vectors[j].at) {
      const unsigned votes = __ballot_sync(kAllLanes, element < x.limit);
      held.before[j] += static_cast<Word>(__popc(votes & lanes_before));
      of_warp += static_cast<Word>(__popc(votes));
    }
  }
  return of_warp;
}

// Writes what is kept of the tile; `first` is the place of what the warp keeps first.
template <int kVectors>
__device__ __forceinline__ void write_kept(const HeldTile<kVectors>& held, Word limit, Word* to,
                                           Word first) {
#pragma unroll
  for (int j = 0; j < kVectors; ++j) {
    Word at = first + held.before[j];
#pragma unroll
    for (const Word element : held.vectors[j].at)
      if (element < limit) to[at++] = element;
  }
}

__global__ void __launch_bounds__(kBlock) tile_kernel(Elements x, Kept kept) {
  __shared__ Word first;
  HeldTile<kVectors> held;
  const BlockSums<Word> block = block_sums<kBlock>(load_and_count(x, blockIdx.x, held));
  if (threadIdx.x == 0) first = atomicAdd(kept.count, block.all);
  __syncthreads();
  write_kept(held, x.limit, kept.at, first + block.before);
}

Variant tile_aggregated() {
  Variant v = counting(variant("tile_aggregated", "warp_aggregated",
                               {{"global_atomic_requests", Direction::decreases, 30, keeps_many},
                                {"global_load_requests", Direction::decreases, 3.5, is_large},
                                {"global_store_sectors", Direction::increases, 2, keeps_many}}),
                       tile_kernel, kTile);
  v.without_time = kPlacesFound;
  return v;
}

// ---- three_pass: count, scan, write
//
// In order: a first kernel counts what each tile keeps, one block makes places of the counts, and a
// third kernel reads the tiles again and writes. There are no atomics, and dram_read_bytes doubles.

__global__ void __launch_bounds__(kBlock) count_kernel(Elements x, Word* of_tiles) {
  HeldTile<kVectors> held;
  const BlockSums<Word> block = block_sums<kBlock>(load_and_count(x, blockIdx.x, held));
  if (threadIdx.x == 0) of_tiles[blockIdx.x] = block.all;
}

__global__ void __launch_bounds__(kBlock)
    write_kernel(Elements x, const Word* up_to_tiles, Word* out) {
  HeldTile<kVectors> held;
  const BlockSums<Word> block = block_sums<kBlock>(load_and_count(x, blockIdx.x, held));
  write_kept(held, x.limit, out, before_tile(up_to_tiles, blockIdx.x) + block.before);
}

Variant three_pass() {
  Variant v = variant("three_pass", "tile_aggregated",
                      {{"dram_read_bytes", Direction::increases, 1.8, is_huge},
                       {"global_load_requests", Direction::increases, 1.9, is_large}});
  v.without_time = kPlacesFound;
  v.workspace_bytes = [](const Problem& p, const DeviceSpec&) {
    return ceil_div(p.n, kTile) * std::int64_t{sizeof(Word)};
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    auto* const of_tiles = static_cast<Word*>(x.workspace);
    const Shape s = blocks_of(p.n, kTile);
    return launch(count_kernel, s, elements(p, d), of_tiles) +
           scan_sums(of_tiles, s.grid.x, d.count) +
           launch(write_kernel, s, elements(p, d), of_tiles, d.out);
  };
  return v;
}

// ---- look_back: one pass, in order
//
// A tile says how many it keeps, and looks back at what the tiles before have said, as look_back of
// the family scan does: each element is read once, dram_read_bytes falls to half, and the order is
// kept. Sums are of integers, so that results are the same in every launch.

// The last tile says how many are kept of all.
__device__ __forceinline__ void set_count(const Kept& kept, std::int64_t tile, Word up_to_tile) {
  if (tile == gridDim.x - 1 && threadIdx.x == 0) *kept.count = up_to_tile;
}

__global__ void __launch_bounds__(kBlock)
    look_back_kernel(Elements x, TileStates states, Kept kept) {
  const std::int64_t tile = take_tile(states);
  HeldTile<kVectors> held;
  const BlockSums<Word> block = block_sums<kBlock>(load_and_count(x, tile, held));
  const Word before = sum_before_block<1>(states, tile, block.all);
  set_count(kept, tile, before + block.all);
  write_kept(held, x.limit, kept.at, before + block.before);
}

Variant in_one_pass(Variant v, void (*kernel)(Elements, TileStates, Kept), std::int64_t tile) {
  v.workspace_bytes = [=](const Problem& p, const DeviceSpec&) {
    return tile_state_bytes(ceil_div(p.n, tile));
  };
  v.launch = [=](const Problem& p, const Data& d, const LaunchContext& x) {
    const Shape s = blocks_of(p.n, tile);
    return clear_tile_states(x.workspace, s.grid.x) +
           launch(kernel, s, elements(p, d), tile_states(x.workspace), Kept{d.out, d.count});
  };
  return waiting_for_tiles(std::move(v));
}

Variant look_back() {
  return in_one_pass(variant("look_back", "three_pass",
                             {{"dram_read_bytes", Direction::decreases, 1.8, is_huge},
                              {"global_store_sectors", Direction::unchanged, 1.1, is_large}}),
                     look_back_kernel, kTile);
}

// ---- look_back_staged: stores through shared memory
//
// In look_back each of a warp's four stores per vector touches sectors that its other stores touch,
// too. Here warps store the kept elements to consecutive words of shared memory while the first
// warp looks back: shared_store_wavefronts increases. The block then stores them from there,
// neighbouring lanes to neighbouring words: global_store_sectors decreases. dram_read_bytes is
// unchanged. The cost is 16 KiB of shared memory per block.

template <int kVectors, int kWords>
__global__ void __launch_bounds__(kBlock) staged_kernel(Elements x, TileStates states, Kept kept) {
  __shared__ Word staged[kTileOf<kBlock, kVectors>];
  const std::int64_t tile = take_tile(states);
  HeldTile<kVectors> held;
  const BlockSums<Word> block = block_sums<kBlock>(load_and_count(x, tile, held));
  write_kept(held, x.limit, staged, block.before);
  const Word before = sum_before_block<kWords>(states, tile, block.all);
  set_count(kept, tile, before + block.all);
  for (unsigned i = threadIdx.x; i < block.all; i += kBlock)
    kept.at[before + i] = staged[i];
}

Variant look_back_staged() {
  return in_one_pass(variant("look_back_staged", "look_back",
                             {{"global_store_sectors", Direction::decreases, 2, keeps_many},
                              {"shared_store_wavefronts", Direction::increases, 4, keeps_many},
                              {"dram_read_bytes", Direction::unchanged, 1.1, is_huge}}),
                     staged_kernel<kVectors, 1>, kTile);
}

// ---- look_back_large: larger tiles, and more of them looked at
//
// 8192 elements per block, and looks at 128 tiles at once: what the family scan shows one by one.
// Compaction moves fewer bytes per tile than a scan, so that tiles follow each other faster and
// looks have less time. Tickets and states are half as many (global_atomic_requests). It costs
// 32 KiB of shared memory per block, and registers.
// held: global_atomic_requests = 1/2 × look_back at n=1048576

Variant look_back_large() {
  constexpr int kWords = 4;
  return in_one_pass(variant("look_back_large", "look_back_staged",
                             {{"global_atomic_requests", Direction::decreases, 1.9, is_large},
                              {"global_store_sectors", Direction::unchanged, 1.2, keeps_many},
                              {"dram_read_bytes", Direction::unchanged, 1.1, is_huge}}),
                     staged_kernel<2 * kVectors, kWords>, 2 * kTile);
}

// ---- cub
//
// cub::DeviceSelect::If: what one would call, and the figure to beat. It looks back, too, and
// brings what is kept together in shared memory.

Variant vendor_cub() {
  Variant v = variant("cub", "look_back_large", {});
  v.is_vendor = true;
  v.workspace_bytes = [](const Problem& p, const DeviceSpec&) {
    return cub::select_workspace_bytes(p.n);
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return cub::step_of(cub::SelectBelow{p.n, limit_of(p), d.x, d.out, d.count, x.workspace});
  };
  return v;
}

// ---- inputs

struct Element {
  std::uint64_t seed;
  Word limit;
  Values values;
  __host__ __device__ Word operator()(std::int64_t i) const {
    const auto x = static_cast<Word>(random_bits(seed, static_cast<std::uint64_t>(i)) >> 33);
    return values == Values::random ? x : x < limit ? Word{0} : ~Word{0};
  }
};

// What the output holds before: no element that is kept.
Steps unwritten(const Problem& p, const Data& d) {
  return MemsetStep{d.out, 0xFF, p.n * std::int64_t{sizeof(Word)}};
}

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return fill(d.x, p.n, Element{stream_seed(seed, 0), limit_of(p), p.values}) + unwritten(p, d);
}

// ---- the plain reference

struct IsKept {
  Elements x;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    return {x.at[i] < x.limit ? 1.0 : 0.0, 0.0};
  }
};

struct Unwritten {
  __host__ __device__ ReferenceElement operator()(std::int64_t) const {
    return {static_cast<double>(~Word{0}), 0.0};
  }
};

struct Count {
  IsKept is_kept;
  __host__ __device__ ReferenceTerm operator()(std::int64_t i) const {
    return {0, is_kept(i).value, 0.0};
  }
};

// `places` has how many are kept up to each element.
struct Placed {
  Elements x;
  const double* places;
  double* out;
  __host__ __device__ void operator()(std::int64_t i) const {
    if (x.at[i] < x.limit) out[static_cast<std::int64_t>(places[i]) - 1] = x.at[i];
  }
};

__global__ void place_kernel(Placed placed) {
  for_items_of_thread(placed.x.n, placed);
}

// The magnitudes, which are zero, hold the places meanwhile.
Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  constexpr std::int64_t kMostBlocks = 1 << 12;
  const Elements x = elements(p, d);
  Steps count = evaluate_sums(out[1], 1, p.n, Count{{x}});
  if (!out[0]) return count;
  double* const places = out[0].magnitude;
  const Placed placed{x, places, out[0].value};
  const auto on_host = [=](std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i)
      placed(i);
  };
  return evaluate_reference(out[0], p.n, Unwritten{}) + prefix_reference(places, p.n, IsKept{x}) +
         with_host_loop(launch(place_kernel, grid_stride(p.n, kMostBlocks), placed),
                        {p.n, on_host}) +
         MemsetStep{places, 0, p.n * std::int64_t{sizeof(double)}} + std::move(count);
}

// ---- declaration

Family declare() {
  Family f("compaction", Topic::patterns, "Who tells a kept element where it goes?");
  f.physics =
      "Compaction reads all elements and writes those that it keeps. A counter that gives places "
      "out is one address, whose additions L2 makes one after the other, so that there must be "
      "few of them: one per tile. It loses the order. To keep it, the number of kept elements "
      "before a tile has to be known before the tile is written: by a pass that counts, which "
      "reads everything twice, or by looking back at tiles that others are at. Kept elements lie "
      "next to each other in the output and apart in registers; shared memory brings them "
      "together, so that stores fill their sectors.";
  f.extent("n", &Problem::n, std::int64_t{1} << 28, (std::int64_t{1} << 31) - 1, "elements")
      .real("kept", &Problem::kept, 0.5, 0, 1, "", "share of the elements that are kept")
      .choice<Values>("values", &Problem::values,
                      {{"random", Values::random}, {"alike", Values::alike}},
                      "random 31-bit numbers; or the same for all that are kept, so that their "
                      "order does not show");
  f.input("x", &Data::x, &Problem::n).in_out("out", &Data::out, &Problem::n);
  f.output("count", &Data::count, [](const Problem&) { return std::int64_t{1}; });
  f.figure("compaction", "traffic", "Stream compaction: useful bytes per second");
  f.inputs = inputs;
  f.reset = unwritten;
  f.reference = reference;
  f.tolerance_derivation =
      "Zero: elements are moved bit by bit, their number is a whole one. Behind the last that is "
      "kept, the output holds what it held before. Results are compared place by place; who loses "
      "the order runs where all kept elements are alike, and has as many of them as there are, "
      "and no gap between.";
  f.variants(atomic_per_element(), warp_aggregated(), tile_aggregated(), three_pass(), look_back(),
             look_back_staged(), look_back_large(), vendor_cub());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::compaction
