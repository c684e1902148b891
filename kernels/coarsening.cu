// coarsening: c = a + b, the first kernel that everybody writes, with one element per thread and
// with up to 16.
//
// The question: how much work should a thread have? With one element per thread the program is as
// short as can be, and each thread computes an index and addresses, compares, loads twice, adds
// once and stores. Most of its instructions are for the index, and the two loads are all that it
// has in flight: 8 bytes. A thread with more elements computes its index once for all of them, may
// ask for all of its operands before it needs the first, and there are fewer threads and blocks to
// start. It costs registers, in which loads in flight arrive, and blocks, of which a small problem
// then has too few. Which elements a thread takes decides what a warp asks for together: neighbours
// of one thread are no neighbours of a lane.
//
// How wide a load should be is vector_width's question, how many warps it takes occupancy's.
#include <algorithm>
#include <array>

#include "kernels/common/family.cuh"
#include "kernels/common/powers_of_two.cuh"
#include "kernels/common/vectors.cuh"

namespace gpuexp::coarsening {

struct Problem {
  std::int64_t n;
  int elements;
  int blocks_per_sm;
};

struct Data {
  float *a, *b, *c;
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

constexpr int kBlock = 256;
// Asking for four resident blocks at least leaves ptxas a register for each load of 16 elements: by
// itself it makes do with 32, and adds the first sums up before it issues the last loads.
constexpr int kLeastBlocks = 4;

// ---- one_element: a thread per element
//
// Lanes are neighbours, a request is 128 bytes, nothing is wasted but instructions: index,
// comparison and addresses are for one addition. A full SM has 16 KB in flight, but a block has 2
// KB to load, and is done nearly as soon as the GPU can start the next. The parameter elements is
// of no matter here.

__global__ void one_element_kernel(const float* a, const float* b, float* c, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

// ---- how the variants are launched

using Kernel = void (*)(const float*, const float*, float*, std::int64_t);

/// By the logarithm of `elements`.
using ByElements = std::array<Kernel, 5>;
constexpr int kMostElements = 16;

Shape shape(const Problem& p, std::int64_t elements_per_block) {
  return shape_of_tiles(p.n, elements_per_block, kBlock);
}

/// Blocks of loops: so many for each SM, fewer where n is less.
Shape loop_shape(const Problem& p, const DeviceSpec& device) {
  Shape s = shape(p, kBlock);
  s.grid.x = std::min<std::int64_t>(s.grid.x, p.blocks_per_sm * device.sm_count);
  s.tile.x = ceil_div(p.n, s.grid.x);
  return s;
}

Work work(const Problem& p) {
  return 2 * reads<float>(p.n) + writes<float>(p.n) +
         computes(Pipe::fp32, static_cast<double>(p.n));
}

/// `loads_of(p)` are what a thread has in flight, of 4 bytes each; `kernel_for(p)` is launched in
/// the shape that `shape_of(p, device)` gives.
template <class LoadsOf, class KernelFor, class ShapeOf>
Variant variant(std::string id, std::string compare_to, LoadsOf loads_of, KernelFor kernel_for,
                ShapeOf shape_of, ExpectedChangesOf<Problem> expected) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.work = work;
  v.metrics = [loads_of](const Problem& p, const DeviceSpec&) {
    return MetricValues{{kBytesInFlightMetric, sizeof(float) * static_cast<double>(loads_of(p))}};
  };
  v.launch = [kernel_for, shape_of](const Problem& p, const Data& d, const LaunchContext& x) {
    return launch(kernel_for(p), shape_of(p, x.device), d.a, d.b, d.c, p.n);
  };
  return v;
}

int two_loads(const Problem&) {
  return 2;
}
int two_loads_per_element(const Problem& p) {
  return 2 * p.elements;
}

/// Blocks that each have `elements` elements for each of their threads.
Variant coarsened(std::string id, std::string compare_to, const ByElements& kernels,
                  ExpectedChangesOf<Problem> expected) {
  return variant(
      std::move(id), std::move(compare_to), two_loads_per_element,
      [kernels](const Problem& p) { return kernels[logarithm(p.elements)]; },
      [](const Problem& p, const DeviceSpec&) { return shape(p, kBlock * p.elements); },
      std::move(expected));
}

Variant one_element() {
  return variant(
      "one_element", "", two_loads, [](const Problem&) { return one_element_kernel; },
      [](const Problem& p, const DeviceSpec&) { return shape(p, kBlock); }, {});
}

// Problems with so many blocks that tails are nothing beside the whole.
constexpr auto is_large = at_least(&Problem::n, 1 << 24);
bool takes_two(const Problem& p) {
  return is_large(p) && p.elements >= 2;
}
bool takes_four(const Problem& p) {
  return is_large(p) && p.elements >= 4;
}
bool takes_eight(const Problem& p) {
  return is_large(p) && p.elements >= 8;
}

// ---- contiguous: neighbours for each thread
//
// Each thread takes its elements in a row, as one would part work among the cores of a CPU. All
// loads come before the first store, so that bytes_in_flight_per_thread grows with elements, and
// warp_instructions falls. But lanes are now that many elements apart: each load touches a word or
// two of each of many sectors, global_load_sectors_per_request rises with elements, up to 32, and
// the thread's next load wants the same sectors again. L1 has them if it could keep them. Stores
// that fill a sector soon after each other leave L1 together; where a thread stores many, they do
// not, L2 gets sectors in part, and l2_sectors rises.

/// Elements 0, step, 2·step, … from `a`, `b` and `c` on.
template <int kElements>
__device__ void add_elements(const float* a, const float* b, float* c, int step) {
  float sum[kElements];
#pragma unroll
  for (int j = 0; j < kElements; ++j)
    sum[j] = a[j * step] + b[j * step];
#pragma unroll
  for (int j = 0; j < kElements; ++j)
    c[j * step] = sum[j];
}

template <int kElements>
__global__ void __launch_bounds__(kBlock, kLeastBlocks)
    contiguous_kernel(const float* a, const float* b, float* c, std::int64_t n) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::int64_t first = thread * kElements;
  if (first + kElements <= n) {
    add_elements<kElements>(a + first, b + first, c + first, 1);
  } else {
#pragma unroll 1
    for (std::int64_t i = first; i < n; ++i)
      c[i] = a[i] + b[i];
  }
}

Variant contiguous() {
  return coarsened("contiguous", "one_element",
                   {contiguous_kernel<1>, contiguous_kernel<2>, contiguous_kernel<4>,
                    contiguous_kernel<8>, contiguous_kernel<16>},
                   {{"global_load_sectors_per_request", Direction::increases, 1.9, takes_two},
                    {"warp_instructions", Direction::decreases, 1.3, takes_four},
                    {"l2_sectors", Direction::increases, 1.5, takes_eight},
                    {"global_load_requests", Direction::unchanged, 1.01, is_large}});
}

// ---- block_strided: neighbours for each warp
//
// The block has the same elements, and each thread takes those that are a block's width apart:
// lanes are neighbours in every request, global_load_sectors_per_request is 4 again, and l2_sectors
// what it was. Loads in flight and instructions are those of contiguous. It costs registers, one
// per element, and small problems have few blocks.
// held: global_load_sectors_per_request = 4

template <int kElements>
__global__ void __launch_bounds__(kBlock, kLeastBlocks)
    block_strided_kernel(const float* a, const float* b, float* c, std::int64_t n) {
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * (kElements * kBlock);
  const std::int64_t first = begin + threadIdx.x;
  if (begin + kElements * kBlock <= n) {
    add_elements<kElements>(a + first, b + first, c + first, kBlock);
  } else {
#pragma unroll 1
    for (std::int64_t i = first; i < n; i += kBlock)
      c[i] = a[i] + b[i];
  }
}

Variant block_strided() {
  return coarsened("block_strided", "contiguous",
                   {block_strided_kernel<1>, block_strided_kernel<2>, block_strided_kernel<4>,
                    block_strided_kernel<8>, block_strided_kernel<16>},
                   {{"global_load_sectors_per_request", Direction::decreases, 1.9, takes_two},
                    {"l2_sectors", Direction::decreases, 1.5, takes_eight},
                    {"global_load_requests", Direction::unchanged, 1.01, is_large},
                    {"warp_instructions", Direction::unchanged, 1.1, takes_two}});
}

// ---- vectors: neighbours for both
//
// Four elements in a row are one access of 16 bytes: lanes are neighbours, and so are a thread's
// elements. global_load_requests falls to a quarter, and so do the instructions that load and
// store. More than four elements are several such accesses, a block's width apart. It needs
// pointers to multiples of 16 bytes, which those of cudaMalloc are, and not those to any element.
// held: global_load_requests = 1/4 × block_strided

template <int kWidth>
__device__ Floats<kWidth> sum_of(Floats<kWidth> a, Floats<kWidth> b) {
  Floats<kWidth> sum;
#pragma unroll
  for (int i = 0; i < kWidth; ++i)
    sum.at[i] = a.at[i] + b.at[i];
  return sum;
}

template <int kElements>
__global__ void __launch_bounds__(kBlock, kLeastBlocks)
    vectors_kernel(const float* a, const float* b, float* c, std::int64_t n) {
  constexpr int kWidth = std::min(kElements, 4);
  constexpr int kVectors = kElements / kWidth;
  using Vector = Floats<kWidth>;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * (kElements * kBlock);
  if (begin + kElements * kBlock <= n) {
    const auto* const from_a = reinterpret_cast<const Vector*>(a + begin) + threadIdx.x;
    const auto* const from_b = reinterpret_cast<const Vector*>(b + begin) + threadIdx.x;
    Vector sum[kVectors];
#pragma unroll
    for (int j = 0; j < kVectors; ++j)
      sum[j] = sum_of(from_a[j * kBlock], from_b[j * kBlock]);
#pragma unroll
    for (int j = 0; j < kVectors; ++j)
      (reinterpret_cast<Vector*>(c + begin) + threadIdx.x)[j * kBlock] = sum[j];
  } else {
#pragma unroll 1
    for (std::int64_t i = begin + threadIdx.x; i < n; i += kBlock)
      c[i] = a[i] + b[i];
  }
}

Variant vectors() {
  return coarsened("vectors", "block_strided",
                   {vectors_kernel<1>, vectors_kernel<2>, vectors_kernel<4>, vectors_kernel<8>,
                    vectors_kernel<16>},
                   {{"global_load_requests", Direction::decreases, 1.9, takes_two},
                    {"warp_instructions", Direction::decreases, 1.3, takes_four},
                    {"l2_sectors", Direction::unchanged, 1.05, is_large}});
}

// ---- grid_stride: a few blocks, which loop
//
// As many blocks as fit on the GPU, or fewer (blocks_per_sm). A thread goes on with the element
// that is as many threads further, whatever n is, and lanes are neighbours at each turn. What a
// thread computes before its loop it computes once, and no block has to be started while others
// work. The loop has instructions of its own, a comparison and a branch for each element, and two
// loads are in flight as in one_element: a turn's store waits for its loads, and the next turn's
// loads come behind it.

__global__ void __launch_bounds__(kBlock)
    grid_stride_kernel(const float* a, const float* b, float* c, std::int64_t n) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kBlock;
#pragma unroll 1
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x; i < n;
       i += stride)
    c[i] = a[i] + b[i];
}

Variant grid_stride() {
  return variant("grid_stride", "one_element", two_loads,
                 [](const Problem&) { return grid_stride_kernel; }, loop_shape,
                 {{"warp_instructions", Direction::decreases, 1.2, is_large},
                  {"global_load_requests", Direction::unchanged, 1.01, is_large}});
}

// ---- unrolled: several turns between two branches
//
// A loop of as many turns at once as `elements` says, and a second one for what is left, as
// #pragma unroll makes them of grid_stride's. There is one comparison and one branch for all of
// them: branch_instructions and warp_instructions fall. The loads do not come together. c may
// overlap with a or b, as far as the compiler knows, and then a turn's loads must not come before
// the store of the turn before: bytes_in_flight_per_thread stays. It costs the turns that are left,
// which have to be made one by one.

template <int kUnrolled>
__global__ void __launch_bounds__(kBlock, kLeastBlocks)
    unrolled_kernel(const float* a, const float* b, float* c, std::int64_t n) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kBlock;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
#pragma unroll 1
  for (; i + (kUnrolled - 1) * stride < n; i += kUnrolled * stride) {
#pragma unroll
    for (int j = 0; j < kUnrolled; ++j)
      c[i + j * stride] = a[i + j * stride] + b[i + j * stride];
  }
#pragma unroll 1
  for (; i < n; i += stride)
    c[i] = a[i] + b[i];
}

Variant unrolled_loop(std::string id, std::string compare_to, int (*loads_of)(const Problem&),
                      const ByElements& kernels, ExpectedChangesOf<Problem> expected) {
  return variant(
      std::move(id), std::move(compare_to), loads_of,
      [kernels](const Problem& p) { return kernels[logarithm(p.elements)]; }, loop_shape,
      std::move(expected));
}

Variant unrolled() {
  return unrolled_loop("unrolled", "grid_stride", two_loads,
                       {unrolled_kernel<1>, unrolled_kernel<2>, unrolled_kernel<4>,
                        unrolled_kernel<8>, unrolled_kernel<16>},
                       {{"branch_instructions", Direction::decreases, 1.7, takes_four},
                        {"warp_instructions", Direction::decreases, 1.1, takes_four},
                        {"metric.bytes_in_flight_per_thread", Direction::unchanged},
                        {"global_load_requests", Direction::unchanged, 1.01, is_large}});
}

// ---- unrolled_restrict: and nothing overlaps
//
// __restrict__ promises that what is written through c is not read through a or b. Now the compiler
// puts the loads of all turns of the unrolled loop before the first store:
// bytes_in_flight_per_thread grows with elements, and so do registers, in which they arrive. The
// code says no more than that, and global_load_requests stays.

template <int kUnrolled>
__global__ void __launch_bounds__(kBlock, kLeastBlocks)
    unrolled_restrict_kernel(const float* __restrict__ a, const float* __restrict__ b,
                             float* __restrict__ c, std::int64_t n) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kBlock;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
#pragma unroll 1
  for (; i + (kUnrolled - 1) * stride < n; i += kUnrolled * stride) {
#pragma unroll
    for (int j = 0; j < kUnrolled; ++j)
      c[i + j * stride] = a[i + j * stride] + b[i + j * stride];
  }
#pragma unroll 1
  for (; i < n; i += stride)
    c[i] = a[i] + b[i];
}

Variant unrolled_restrict() {
  return unrolled_loop(
      "unrolled_restrict", "unrolled", two_loads_per_element,
      {unrolled_restrict_kernel<1>, unrolled_restrict_kernel<2>, unrolled_restrict_kernel<4>,
       unrolled_restrict_kernel<8>, unrolled_restrict_kernel<16>},
      {{"metric.bytes_in_flight_per_thread", Direction::increases, 1.9, takes_two},
       {"warp_instructions", Direction::unchanged, 1.2, is_large},
       {"global_load_requests", Direction::unchanged, 1.01, is_large}});
}

// ---- inputs and the plain reference

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return fill_uniform(d.a, p.n, stream_seed(seed, 0)) +
         fill_uniform(d.b, p.n, stream_seed(seed, 1));
}

struct Sum {
  Data d;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    return {static_cast<double>(d.a[i]) + static_cast<double>(d.b[i]), 0.0};
  }
};

// ---- declaration

Family declare() {
  Family f("coarsening", Topic::execution, "How much work should a thread have?");
  f.physics =
      "What a thread computes for itself, its index and whether it has work, it computes for all "
      "of its elements at once. What it loads before it uses any of it is in flight together. More "
      "elements per thread make fewer instructions per element, more bytes in flight per thread "
      "and fewer threads and blocks, of which there must be enough for all SMs. Which elements a "
      "thread takes is free, and should be such that lanes are neighbours at every access.";
  f.extent("n", &Problem::n, std::int64_t{1} << 26, std::int64_t{1} << 34, "elements of a, b and c")
      .integer("elements", &Problem::elements, 4, 1, kMostElements, "",
               "elements of a thread, or turns of an unrolled loop: 1, 2, 4, 8 or 16; of no matter "
               "to one_element and grid_stride")
      .integer("blocks_per_sm", &Problem::blocks_per_sm, 8, 1, 32, "",
               "blocks of 256 threads that loops are launched with for each SM: an SM of an H200 "
               "has room for 8; of no matter to kernels without a loop");
  f.input("a", &Data::a, &Problem::n)
      .input("b", &Data::b, &Problem::n)
      .output("c", &Data::c, &Problem::n);
  f.metric(kBytesInFlightMetric, "B", "of the loads that a thread makes before it waits");
  f.figure("coarsening", "traffic", "Coarsening: the same sums by more elements per thread");
  f.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (is_power_of_two(p.elements)) return std::nullopt;
    return "needs elements that are a power of two, for which there are kernels";
  };
  f.inputs = inputs;
  set_references(f, &Problem::n, [](const Problem&, const Data& d, int) { return Sum{d}; });
  f.tolerance_derivation =
      "Zero: a and b are multiples of 2^-23 in [-1, 1), and fp32 has all multiples of 2^-23 "
      "between -2 and 2, among which their sum is.";
  f.variants(one_element(), contiguous(), block_strided(), vectors(), grid_stride(), unrolled(),
             unrolled_restrict());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::coarsening
