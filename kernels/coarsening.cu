// coarsening: c = a + b, the usual first CUDA kernel, with one to 16 elements per thread.
//
// The question: how many elements should a thread process? A thread with several elements computes
// its index once and can issue all loads before it needs the first value. The cost is registers,
// and too few blocks for small problems. The family vector_width varies the width of loads, and
// occupancy the number of warps.
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
// With this minimum, ptxas gives each load of 16 elements its own register. Without it, ptxas uses
// only 32 registers and adds the first values before it issues the last loads.
constexpr int kMinBlocksPerSm = 4;

// ---- one_element: a thread per element
//
// Neighbouring lanes access neighbouring elements, so each request is 128 contiguous bytes, all of
// them useful. The instructions for index, comparison and addresses serve only one addition. A full
// SM has 16 KB in flight, but each block loads only 2 KB and ends almost as soon as the GPU can
// start the next block. The parameter elements has no effect here.

__global__ void one_element_kernel(const float* a, const float* b, float* c, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

// ---- how the variants are launched

using Kernel = void (*)(const float*, const float*, float*, std::int64_t);

/// Indexed by the logarithm of `elements`.
using ByElements = std::array<Kernel, 5>;
constexpr int kMaxElements = 16;

Shape shape(const Problem& p, std::int64_t elements_per_block) {
  return shape_of_tiles(p.n, elements_per_block, kBlock);
}

/// Shape of grid-stride loops: blocks_per_sm blocks per SM, or fewer if n is small.
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

/// `loads_of(p)` returns the number of 4-byte loads that a thread has in flight.
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

/// A variant whose threads each process `elements` elements without a grid-stride loop.
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

// True if the last wave is a negligible part of the time.
constexpr auto is_large = at_least(&Problem::n, 1 << 24);
bool has_two_or_more(const Problem& p) {
  return is_large(p) && p.elements >= 2;
}
bool has_four_or_more(const Problem& p) {
  return is_large(p) && p.elements >= 4;
}
bool has_eight_or_more(const Problem& p) {
  return is_large(p) && p.elements >= 8;
}

// ---- contiguous: consecutive elements per thread
//
// Each thread processes consecutive elements. All loads precede the first store, so
// bytes_in_flight_per_thread increases with the parameter elements, and warp_instructions
// decreases. The cost is coalescing: neighbouring lanes are `elements` elements apart, so each load
// touches many sectors and uses one or two words of each. global_load_sectors_per_request increases
// with elements, up to 32. L1 merges stores that fill a sector in quick succession. With many
// stores per thread it does not, L2 receives partial sectors, and l2_sectors increases.

/// Stores a[i] + b[i] to c[i] for i = 0, step, 2·step, …
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
__global__ void __launch_bounds__(kBlock, kMinBlocksPerSm)
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
                   {{"global_load_sectors_per_request", Direction::increases, 1.9, has_two_or_more},
                    {"warp_instructions", Direction::decreases, 1.3, has_four_or_more},
                    {"l2_sectors", Direction::increases, 1.5, has_eight_or_more},
                    {"global_load_requests", Direction::unchanged, 1.01, is_large}});
}

// ---- block_strided: consecutive elements per warp
//
// The block processes the same elements as in contiguous, but the elements of a thread are one
// block width apart. Neighbouring lanes access neighbouring elements in every request:
// global_load_sectors_per_request is 4, and l2_sectors decreases to its value in one_element. Loads
// in flight and instructions are unchanged. The cost is one register per element, and few blocks
// for small problems.
// held: global_load_sectors_per_request = 4

template <int kElements>
__global__ void __launch_bounds__(kBlock, kMinBlocksPerSm)
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
                   {{"global_load_sectors_per_request", Direction::decreases, 1.9, has_two_or_more},
                    {"l2_sectors", Direction::decreases, 1.5, has_eight_or_more},
                    {"global_load_requests", Direction::unchanged, 1.01, is_large},
                    {"warp_instructions", Direction::unchanged, 1.1, has_two_or_more}});
}

// ---- vectors: 16-byte loads and stores
//
// Each thread accesses four consecutive elements with one load or store of 16 bytes, so lanes and
// the elements of a thread are both contiguous. global_load_requests decreases to a quarter, and
// warp_instructions decreases. With more than four elements, a thread issues several such accesses,
// one block width apart. The cost is alignment: addresses must be multiples of 16 bytes.
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
__global__ void __launch_bounds__(kBlock, kMinBlocksPerSm)
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
                   {{"global_load_requests", Direction::decreases, 1.9, has_two_or_more},
                    {"warp_instructions", Direction::decreases, 1.3, has_four_or_more},
                    {"l2_sectors", Direction::unchanged, 1.05, is_large}});
}

// ---- grid_stride: grid-stride loop over resident blocks
//
// At most blocks_per_sm blocks per SM run, for every n. After each element a thread advances by the
// number of threads in the grid, so neighbouring lanes access neighbouring elements in every
// iteration. A thread computes its index only once: warp_instructions decreases. The loop adds a
// comparison and a branch per element. Only two loads are in flight, as in one_element, because the
// loads of an iteration follow the store of the previous iteration, which waits for its loads.

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

// ---- unrolled: unrolled grid-stride loop
//
// The loop executes `elements` iterations of grid_stride at once, as with #pragma unroll, and a
// second loop executes the remaining iterations one by one. One comparison and one branch serve all
// unrolled iterations: branch_instructions and warp_instructions decrease. The compiler must assume
// that c overlaps a or b, so it may not move the loads of an iteration before the store of the
// previous iteration: bytes_in_flight_per_thread is unchanged.

template <int kUnrolled>
__global__ void __launch_bounds__(kBlock, kMinBlocksPerSm)
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
                       {{"branch_instructions", Direction::decreases, 1.7, has_four_or_more},
                        {"warp_instructions", Direction::decreases, 1.1, has_four_or_more},
                        {"metric.bytes_in_flight_per_thread", Direction::unchanged},
                        {"global_load_requests", Direction::unchanged, 1.01, is_large}});
}

// ---- unrolled_restrict: unrolled loop without aliasing
//
// __restrict__ promises that no element stored through c is read through a or b. The compiler
// therefore moves the loads of all unrolled iterations before the first store:
// bytes_in_flight_per_thread increases with the parameter elements. The cost is registers.
// global_load_requests is unchanged.

template <int kUnrolled>
__global__ void __launch_bounds__(kBlock, kMinBlocksPerSm)
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
      {{"metric.bytes_in_flight_per_thread", Direction::increases, 1.9, has_two_or_more},
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
  Family f("coarsening", Topic::execution, "How many elements should a thread process?");
  f.physics =
      "A thread computes its index and bounds check once for all of its elements. The loads that "
      "it issues before it uses a value are in flight together. More elements per thread mean "
      "fewer instructions per element, more bytes in flight per thread, and fewer threads and "
      "blocks, which must still suffice for all SMs. The elements of a thread can be chosen "
      "freely; neighbouring lanes should access neighbouring elements in every load and store.";
  f.extent("n", &Problem::n, std::int64_t{1} << 26, std::int64_t{1} << 34, "elements of a, b and c")
      .integer("elements", &Problem::elements, 4, 1, kMaxElements, "",
               "elements per thread, or unrolled iterations of a loop: 1, 2, 4, 8 or 16; ignored "
               "by one_element and grid_stride")
      .integer("blocks_per_sm", &Problem::blocks_per_sm, 8, 1, 32, "",
               "blocks of 256 threads per SM, for kernels with a grid-stride loop: an SM of an "
               "H200 has room for 8; ignored by the other kernels");
  f.input("a", &Data::a, &Problem::n)
      .input("b", &Data::b, &Problem::n)
      .output("c", &Data::c, &Problem::n);
  f.metric(kBytesInFlightMetric, "B", "bytes of the loads that a thread issues before it waits");
  f.plot("coarsening", "traffic", "Thread coarsening: useful bandwidth by elements per thread");
  f.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (is_power_of_two(p.elements)) return std::nullopt;
    return "needs elements to be a power of two, at most 16: kernels exist only for these";
  };
  f.inputs = inputs;
  set_references(f, &Problem::n, [](const Problem&, const Data& d, int) { return Sum{d}; });
  f.tolerance_derivation =
      "Zero: a and b are multiples of 2^-23 in [-1, 1). fp32 represents all multiples of 2^-23 "
      "between -2 and 2, and the sum is one of them.";
  f.variants(one_element(), contiguous(), block_strided(), vectors(), grid_stride(), unrolled(),
             unrolled_restrict());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::coarsening
