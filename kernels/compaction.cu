// compaction: stores the elements that satisfy a condition contiguously.
//
// The question: how does each kept element get its output index? The index is the number of kept
// elements before it, a prefix sum, or any unused index if the order does not matter.
#include <vector>

#include "gpu/cub_select.hpp"
#include "kernels/common/family.cuh"
#include "kernels/common/look_back.cuh"
#include "kernels/common/prefix_reference.cuh"
#include "kernels/common/tile_scan.cuh"

namespace gpuexp::compaction {

using Word = std::uint32_t;

enum class Values {
  random,  // random elements: verification detects a wrong order
  alike,   // all kept elements are 0
};

struct Problem {
  std::int64_t n;
  double kept;  // share of elements, 0 to 1
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

// ---- atomic_per_element: one atomic addition per kept element
//
// The thread of a kept element adds 1 to a counter and stores the element at the counter's old
// value, so the order is lost. All additions go to one address, and L2 performs them one after
// another, one per kept element (l2_atomic_cycles). If ptxas knew that all lanes have one address,
// ptxas would combine the additions into one per warp. The address therefore includes the element's
// highest bit, which is 0 for all kept elements.

__global__ void __launch_bounds__(kBlock) per_element_kernel(Elements x, Kept kept) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i >= x.n) return;
  const Word element = x.at[i];
  if (element < x.limit) kept.at[atomicAdd(kept.count + (element >> 31), 1u)] = element;
}

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// Returns the limit below which elements are kept. Random elements are below 2^31.
Word limit_of(const Problem& p) {
  constexpr double kAll = 1u << 31;
  return static_cast<Word>(p.kept * kAll);
}

Elements elements(const Problem& p, const Data& d) {
  return {d.x, p.n, limit_of(p)};
}

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
constexpr auto is_huge = at_least(&Problem::n, 1 << 28);   // the array is far larger than L2
// True if most warps keep many elements.
bool keeps_many(const Problem& p) {
  return is_large(p) && p.kept >= 0.25;
}

constexpr const char* kPlacesFound = "where its blocks store is known only at run time";

// Sets a launch that clears a counter first and loses the order of the elements.
Variant counting(Variant v, void (*kernel)(Elements, Kept), std::int64_t tile) {
  v.deterministic = false;
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (p.values == Values::alike) return std::nullopt;
    return "needs values = alike: it loses the order, and results are compared in order";
  };
  v.launch = [=](const Problem& p, const Data& d, const LaunchContext&) {
    return Steps(MemsetStep{d.count, 0, sizeof *d.count}) +
           launch(kernel, one_block_per_tile(p.n, tile), elements(p, d), Kept{d.out, d.count});
  };
  return v;
}

Variant atomic_per_element() {
  return counting(variant("atomic_per_element", "", {}), per_element_kernel, kBlock);
}

// ---- warp_aggregated: one atomic addition per warp
//
// The lanes of a warp vote, and lane 0 adds the number of kept elements to the counter. Each kept
// element is stored at the counter's old value plus the number of kept elements in lower lanes.
// ptxas generates the same code for an atomicAdd whose address it knows to be uniform. L2 performs
// one addition per 32 elements instead of one per kept element: l2_atomic_cycles decreases. All
// additions still go to one address.

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
  return counting(variant("warp_aggregated", "atomic_per_element",
                          {{"l2_atomic_cycles", Direction::decreases, 5, keeps_many}}),
                  warp_kernel, kBlock);
}

// ---- tile_aggregated: one atomic addition per tile
//
// A block has 4096 elements, 16 per thread in 16-byte vectors. It counts by votes how many elements
// each warp keeps, and reserves output indices for all of them with one atomic addition:
// global_atomic_requests and global_load_requests decrease. Elements keep their order only within a
// tile. A lane stores the kept elements of a vector one by one, with four stores per warp that
// touch nearly the same sectors: global_store_sectors increases. L2, which serves these sectors, is
// now the limit.

constexpr int kVectors = 4;
constexpr std::int64_t kTile = kTileElements<kBlock, kVectors>;

template <int kVectors>
struct HeldTile {
  Vector4<Word> vectors[kVectors];
  Word before[kVectors];  // number of kept elements of the warp before this lane's vector
};

// Loads the block's tile and returns the number of its elements that the warp keeps. Elements past
// the end of the array are not kept.
template <int kVectors>
__device__ __forceinline__ Word load_and_count(const Elements& x, std::int64_t tile,
                                               HeldTile<kVectors>& held) {
  load_tile<kBlock>(x.at, x.n, tile, held.vectors);
  if (x.n < (tile + 1) * kTileElements<kBlock, kVectors>) {
    const std::int64_t left = x.n - first_of_thread<kBlock, kVectors>(tile);
#pragma unroll
    for (int j = 0; j < kVectors; ++j) {
#pragma unroll
      for (int k = 0; k < kVectorElements; ++k)
        if (j * kWarpVectorElements + k >= left) held.vectors[j].at[k] = ~Word{0};
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

// Stores the kept elements of the warp; `first` is the output index of the first one.
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

// ---- three_pass: count, scan, store
//
// The first kernel counts the kept elements of each tile, and one block scans the counts. A third
// kernel loads the tiles again and stores the kept elements in order, without atomics. The cost is
// a second load of all elements: dram_read_bytes and global_load_requests double.

__global__ void __launch_bounds__(kBlock) count_kernel(Elements x, Word* of_tiles) {
  HeldTile<kVectors> held;
  const BlockSums<Word> block = block_sums<kBlock>(load_and_count(x, blockIdx.x, held));
  if (threadIdx.x == 0) of_tiles[blockIdx.x] = block.all;
}

__global__ void __launch_bounds__(kBlock)
    write_kernel(Elements x, const Word* up_to_tiles, Word* out) {
  HeldTile<kVectors> held;
  const BlockSums<Word> block = block_sums<kBlock>(load_and_count(x, blockIdx.x, held));
  write_kept(held, x.limit, out, exclusive_tile_prefix(up_to_tiles, blockIdx.x) + block.before);
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
    const Shape s = one_block_per_tile(p.n, kTile);
    return launch(count_kernel, s, elements(p, d), of_tiles) +
           scan_sums(of_tiles, s.grid.x, d.count) +
           launch(write_kernel, s, elements(p, d), of_tiles, d.out);
  };
  return v;
}

// ---- look_back: one ordered pass with decoupled look-back
//
// A block publishes the number of elements that its tile keeps and sums the numbers of the earlier
// tiles, as look_back of the family scan does. Each element is loaded once, so dram_read_bytes
// decreases to half, and the order is kept. global_store_sectors is unchanged. Results are
// identical in every launch.

__device__ __forceinline__ void set_count(const Kept& kept, std::int64_t tile, Word up_to_tile) {
  if (tile == gridDim.x - 1 && threadIdx.x == 0) *kept.count = up_to_tile;
}

__global__ void __launch_bounds__(kBlock)
    look_back_kernel(Elements x, TileStates states, Kept kept) {
  const std::int64_t tile = take_tile(states);
  HeldTile<kVectors> held;
  const BlockSums<Word> block = block_sums<kBlock>(load_and_count(x, tile, held));
  const Word before = block_exclusive_prefix<1>(states, tile, block.all);
  set_count(kept, tile, before + block.all);
  write_kept(held, x.limit, kept.at, before + block.before);
}

Variant in_one_pass(Variant v, void (*kernel)(Elements, TileStates, Kept), std::int64_t tile) {
  v.workspace_bytes = [=](const Problem& p, const DeviceSpec&) {
    return tile_state_bytes(ceil_div(p.n, tile));
  };
  v.launch = [=](const Problem& p, const Data& d, const LaunchContext& x) {
    const Shape s = one_block_per_tile(p.n, tile);
    return clear_tile_states(x.workspace, s.grid.x) +
           launch(kernel, s, elements(p, d), tile_states(x.workspace), Kept{d.out, d.count});
  };
  return without_predicted_time(std::move(v));
}

Variant look_back() {
  return in_one_pass(variant("look_back", "three_pass",
                             {{"dram_read_bytes", Direction::decreases, 1.8, is_huge},
                              {"global_store_sectors", Direction::unchanged, 1.1, is_large}}),
                     look_back_kernel, kTile);
}

// ---- look_back_staged: stores through shared memory
//
// In look_back a warp's four stores per vector touch the same sectors. Here warps store the kept
// elements to consecutive words of shared memory while the first warp looks back:
// shared_store_wavefronts increases. The block then copies these words to the output, neighbouring
// lanes to neighbouring words: global_store_sectors decreases. dram_read_bytes is unchanged. The
// cost is 16 KiB of shared memory per block.

template <int kVectors, int kWords>
__global__ void __launch_bounds__(kBlock) staged_kernel(Elements x, TileStates states, Kept kept) {
  __shared__ Word staged[kTileElements<kBlock, kVectors>];
  const std::int64_t tile = take_tile(states);
  HeldTile<kVectors> held;
  const BlockSums<Word> block = block_sums<kBlock>(load_and_count(x, tile, held));
  write_kept(held, x.limit, staged, block.before);
  const Word before = block_exclusive_prefix<kWords>(states, tile, block.all);
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

// ---- look_back_large: larger tiles and look-back over 128 tiles
//
// A block has 8192 elements and looks back over 128 tiles at once. Compaction moves fewer bytes per
// tile than a scan, so tiles follow each other faster and less time is left for a look-back. Half
// as many tiles need half as many tickets: global_atomic_requests decreases to half.
// global_store_sectors and dram_read_bytes are unchanged. The cost is 32 KiB of shared memory per
// block, and registers.
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
// cub::DeviceSelect::If, the library baseline. It also looks back, and gathers the kept elements in
// shared memory.

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

// Fills the output with a value that is never kept.
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

// Stores element i at its output index, places[i] - 1; places[i] counts the kept elements up to i.
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

// The array of magnitudes holds `places` temporarily, and is then set to zero.
Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  constexpr std::int64_t kMaxBlocks = 1 << 12;
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
         with_host_loop(launch(place_kernel, grid_stride(p.n, kMaxBlocks), placed),
                        {p.n, on_host}) +
         MemsetStep{places, 0, p.n * std::int64_t{sizeof(double)}} + std::move(count);
}

// ---- declaration

Family declare() {
  Family f("compaction", Topic::patterns,
           "Which method of assigning output indices compacts an array fastest?");
  f.physics =
      "Compaction loads all elements and stores those that it keeps. A counter that assigns output "
      "indices is one address. L2 performs the additions to it one after another, so they must be "
      "few: one per tile. The counter loses the order. To keep the order, the number of kept "
      "elements before a tile must be known before the tile is stored. It comes from a counting "
      "pass, which loads everything twice, or from a look-back at earlier tiles that other blocks "
      "still process. Kept elements are contiguous in the output, but not in registers. Gathering "
      "them in shared memory first makes stores fill their sectors.";
  f.extent("n", &Problem::n, std::int64_t{1} << 28, (std::int64_t{1} << 31) - 1,
           "number of elements")
      .real("kept", &Problem::kept, 0.5, 0, 1, "", "share of the elements that are kept")
      .choice<Values>("values", &Problem::values,
                      {{"random", Values::random}, {"alike", Values::alike}},
                      "random: 31-bit random numbers; alike: all kept elements are equal, so their "
                      "order has no effect on the result");
  f.input("x", &Data::x, &Problem::n).in_out("out", &Data::out, &Problem::n);
  f.output("count", &Data::count, [](const Problem&) { return std::int64_t{1}; });
  f.plot("compaction", "traffic", "Stream compaction: throughput");
  f.inputs = inputs;
  f.reset = unwritten;
  f.reference = reference;
  f.tolerance_derivation =
      "Zero: elements are copied without arithmetic, and their number is an integer. Past the last "
      "kept element, the output holds its previous content. Results are compared index by index. "
      "Variants that lose the order run only with equal kept elements; the comparison then checks "
      "that their number is right and that they are contiguous.";
  f.variants(atomic_per_element(), warp_aggregated(), tile_aggregated(), three_pass(), look_back(),
             look_back_staged(), look_back_large(), vendor_cub());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::compaction
