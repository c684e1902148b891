// atomics: n values are added to k sums, which any thread may add to.
//
// The question: who adds up, and how many additions does memory see? An atomic addition to global
// memory is done by L2. Each of its slices adds to one 32-byte sector after the other, so that
// additions to one address wait for each other, and those to many are spread over the slices.
// What a warp or a block adds up beforehand, by shuffles, by redux.sync, in registers or in shared
// memory, L2 need not. Sums of integers are the same in any order. Those of floats are not: their
// bits differ from launch to launch, unless code fixes the order.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/common/bound_by_atomics.cuh"
#include "kernels/common/checksum.cuh"
#include "kernels/common/family.cuh"
#include "kernels/common/ordered_sum.cuh"

namespace gpuexp::atomics {

struct Problem {
  std::int64_t n;
  std::int64_t k;
  std::int64_t apart;
};

struct Data {
  std::uint32_t* x;
  std::uint32_t* sums;
  float* float_sums;  // of additions in any order, one per value
  float* block_sums;  // likewise, of the blocks' sums
};

struct Values {
  const std::uint32_t* x;
  std::int64_t n;
  std::uint32_t k;
  std::uint32_t apart;
};

// Which sum a value goes to, by its upper bits, and what it adds, by its lower ones.
__host__ __device__ inline std::uint32_t sum_of(const Values& v, std::uint32_t x) {
  return static_cast<std::uint32_t>(std::uint64_t{x} * v.k >> 32) * v.apart;
}
constexpr std::uint32_t kMostAdded = 15;
__host__ __device__ inline std::uint32_t added(std::uint32_t x) {
  return x & kMostAdded;
}
// Of 16 bits, in [-1/3, 1/3), rounded: a product of its own, in no fused multiply-add.
__host__ __device__ inline float added_float(std::uint32_t x) {
  constexpr float kStep = 0x1p-16f / 1.5f;
  const auto steps = static_cast<float>(static_cast<int>(x & 0xffff) - 0x8000);
#ifdef __CUDA_ARCH__
  return __fmul_rn(steps, kStep);
#else
  return steps * kStep;
#endif
}

// ---- global: an atomic addition per value
//
// atomicAdd whose result nobody asks for is a reduction, REDG: it goes to L2 and the thread goes
// on. A warp sends one request for its 32 values, which L2 takes apart by sectors. With one sum all
// of them meet in one sector of one slice.

constexpr int kBlock = 256;
constexpr int kVectors = 4;  // per thread, of 16 bytes
constexpr int kTile = kBlock * kVectors * 4;

// Calls add(x) for this thread's part of the block's tile, for all lanes of a warp together; x is
// 0, which adds nothing, behind the end.
template <class Add>
__device__ __forceinline__ void for_tile(const Values& v, const Add& add);

__global__ void __launch_bounds__(kBlock) global_kernel(Values v, std::uint32_t* sums) {
  for_tile(v, [&](std::uint32_t x) {
    if (x != 0) atomicAdd(sums + sum_of(v, x), added(x));
  });
}

template <class Add>
__device__ __forceinline__ void for_tile(const Values& v, const Add& add) {
  const std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * kTile;
  uint4 xs[kVectors];
  if (tile + kTile <= v.n) {
#pragma unroll
    for (int i = 0; i < kVectors; ++i)
      xs[i] = reinterpret_cast<const uint4*>(v.x + tile)[i * kBlock + threadIdx.x];
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      add(xs[i].x);
      add(xs[i].y);
      add(xs[i].z);
      add(xs[i].w);
    }
  } else {
#pragma unroll 1
    for (std::int64_t i = tile; i < v.n; i += kBlock)
      add(i + threadIdx.x < v.n ? v.x[i + threadIdx.x] : 0);
  }
}

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

std::int64_t places(const Problem& p) {
  return (p.k - 1) * p.apart + 1;
}

Values values(const Problem& p, const Data& d) {
  return {d.x, p.n, static_cast<std::uint32_t>(p.k), static_cast<std::uint32_t>(p.apart)};
}

Shape tiles(const Problem& p) {
  return shape_of_blocks({ceil_div(p.n, kTile)}, {kBlock}, {places(p)});
}

// A launch begins with sums of zero.
template <class T>
Steps adding(void (*kernel)(Values, T*), const Problem& p, const Data& d, T* sums) {
  return Steps(MemsetStep{sums, 0, places(p) * static_cast<std::int64_t>(sizeof(T))}) +
         launch(kernel, tiles(p), values(p, d), sums);
}

Variant variant(std::string id, std::string compare_to, Pipe pipe,
                ExpectedChangesOf<Problem> expected) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.work = [pipe](const Problem& p) {
    return reads<std::uint32_t>(p.n) + writes<std::uint32_t>(p.k, p.apart) +
           computes(pipe, static_cast<double>(p.n));
  };
  return v;
}

Variant of_integers(std::string id, std::string compare_to, void (*kernel)(Values, std::uint32_t*),
                    ExpectedChangesOf<Problem> expected) {
  Variant v = variant(std::move(id), std::move(compare_to), Pipe::int32, std::move(expected));
  v.writes = {"sums"};
  v.deterministic = true;  // sums of integers are the same in any order
  v.launch = [kernel](const Problem& p, const Data& d, const LaunchContext&) {
    return adding(kernel, p, d, d.sums);
  };
  return v;
}

constexpr auto is_large = at_least(&Problem::n, 1 << 20);

Variant global() {
  return of_integers("global", "", global_kernel, {});
}

// ---- returning: the same, with the sum's old value used
//
// A thread that asks what was there before gets it: ATOMG in place of REDG, with a round trip to L2
// for each addition and 4 bytes per lane on the way back. Here it says whether a sum has passed
// 2^32. global_reduction_requests becomes global_atomic_requests, and warps wait for L2
// (stalled_long_scoreboard). What L2 adds is the same.

__global__ void __launch_bounds__(kBlock) returning_kernel(Values v, std::uint32_t* sums) {
  for_tile(v, [&](std::uint32_t x) {
    if (x == 0) return;
    const std::uint32_t before = atomicAdd(sums + sum_of(v, x), added(x));
    if (before + added(x) < before) __trap();
  });
}

Variant returning() {
  return of_integers("returning", "global", returning_kernel,
                     {{"global_atomic_requests", Direction::increases, 100, is_large},
                      {"global_reduction_requests", Direction::decreases, 100, is_large}});
}

// ---- match_aggregated: lanes with the same sum add once
//
// __match_any_sync finds the lanes that add to the same sum, __reduce_add_sync adds up what they
// have, and the lowest of them adds it to memory. The warp goes over such groups of lanes one by
// one, so that one sum is one step and many sums are nearly 32: warp_instructions rises with the
// number of sums that a warp has, while the lanes that L2 is asked for fall to that number.

__global__ void __launch_bounds__(kBlock) match_kernel(Values v, std::uint32_t* sums) {
  const unsigned lane = threadIdx.x % kWarp;
  for_tile(v, [&](std::uint32_t x) {
    const std::uint32_t to = sum_of(v, x);
    const unsigned peers = __match_any_sync(~0u, to);
    const unsigned sum = __reduce_add_sync(peers, added(x));
    if (__ffs(static_cast<int>(peers)) - 1 == static_cast<int>(lane) && sum != 0)
      atomicAdd(sums + to, sum);
  });
}

Variant match_aggregated() {
  return of_integers("match_aggregated", "global", match_kernel,
                     {{"warp_instructions", Direction::increases, 1.5, is_large},
                      {"global_load_requests", Direction::unchanged, 1.05, is_large}});
}

// ---- warp_first: five shuffles, one addition per warp
//
// With one sum, a warp's values are added up by __shfl_down_sync in five steps, and one lane adds
// the result to memory. As many requests leave the warp, each with one lane in place of 32:
// global_reduction_requests stays. It costs five shuffles and five additions per value.

__global__ void __launch_bounds__(kBlock) shuffle_kernel(Values v, std::uint32_t* sums) {
  for_tile(v, [&](std::uint32_t x) {
    const std::uint32_t sum = warp_sum(added(x));
    if (threadIdx.x % kWarp == 0) atomicAdd(sums + sum_of(v, x), sum);
  });
}

std::optional<std::string> needs_one_sum(const Problem& p, const DeviceSpec&) {
  if (p.k == 1) return std::nullopt;
  return "needs k = 1: lanes add up what goes to one sum";
}

Variant warp_first() {
  Variant v = of_integers("warp_first", "global", shuffle_kernel,
                          {{"global_reduction_requests", Direction::unchanged, 1.05, is_large},
                           {"warp_instructions", Direction::increases, 1.5, is_large}});
  v.unsupported = needs_one_sum;
  return v;
}

// ---- redux_aggregated: the warp's sum by one instruction
//
// redux.sync (compute capability 8.0) adds up integers of a warp at once, what five shuffles and
// five additions did. warp_instructions falls, the requests stay. nvcc makes the same of a plain
// atomicAdd where it can tell that all lanes have one address; in global it cannot.

__global__ void __launch_bounds__(kBlock) redux_kernel(Values v, std::uint32_t* sums) {
  for_tile(v, [&](std::uint32_t x) {
    const std::uint32_t sum = __reduce_add_sync(~0u, added(x));
    if (threadIdx.x % kWarp == 0) atomicAdd(sums, sum);
  });
}

Variant redux_aggregated() {
  Variant v = of_integers("redux_aggregated", "warp_first", redux_kernel,
                          {{"warp_instructions", Direction::decreases, 1.3, is_large},
                           {"global_reduction_requests", Direction::unchanged, 1.05, is_large}});
  v.unsupported = needs_one_sum;
  return v;
}

// ---- block_first: one addition per block
//
// Each thread adds up its 16 values in a register, its warp by shuffles, its block in shared
// memory, and one thread adds the block's sum to memory: a block's 16 × 256 = 4096 values, which
// are 4096 / 32 = 128 of redux_aggregated's requests, become one request and one addition in L2
// (global_reduction_requests). What is left is reading them.
// held: global_reduction_requests = 1/128 × redux_aggregated

__global__ void __launch_bounds__(kBlock) block_kernel(Values v, std::uint32_t* sums) {
  std::uint32_t sum = 0;
  for_tile(v, [&](std::uint32_t x) { sum += added(x); });
  sum = block_sum<kBlock>(sum);
  if (threadIdx.x == 0) atomicAdd(sums, sum);
}

Variant block_first() {
  Variant v = of_integers("block_first", "redux_aggregated", block_kernel,
                          {{"global_reduction_requests", Direction::decreases, 100, is_large},
                           {"warp_instructions", Direction::decreases, 2, is_large}});
  v.unsupported = needs_one_sum;
  return v;
}

// ---- shared_first: sums in shared memory per block
//
// Each block adds its 4096 values to k sums in shared memory and then adds each sum once to global
// memory. Its 128 reduction requests of 32 values become k/32 (at least one), so
// global_reduction_requests falls to 1/128 up to 32 sums and to k/4096 beyond. With one sum, L2
// adds one value per block instead of 4096. Lanes that access one bank of shared memory are
// serialized within the SM. global_load_requests is unchanged.
// held: global_reduction_requests = 1/128 × global at k=32
// held: global_reduction_requests = 1/4 × global at k=1024

constexpr std::int64_t kMostShared = 8192;  // sums, 32 KB

__global__ void __launch_bounds__(kBlock) shared_kernel(Values v, std::uint32_t* sums) {
  extern __shared__ std::uint32_t of_block[];
  for (std::uint32_t i = threadIdx.x; i < v.k; i += kBlock)
    of_block[i] = 0;
  __syncthreads();
  const std::uint32_t apart = v.apart;
  v.apart = 1;
  for_tile(v, [&](std::uint32_t x) {
    if (x != 0) atomicAdd(of_block + sum_of(v, x), added(x));
  });
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < v.k; i += kBlock) {
    if (of_block[i] != 0) atomicAdd(sums + i * apart, of_block[i]);
  }
}

Variant shared_first() {
  Variant v = of_integers("shared_first", "global", shared_kernel,
                          {{"global_reduction_requests", Direction::decreases, 4,
                            [](const Problem& p) { return is_large(p) && p.k <= 512; }},
                           {"global_load_requests", Direction::unchanged, 1.05, is_large}});
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (p.k <= kMostShared) return std::nullopt;
    return "needs k <= " + std::to_string(kMostShared) + ", 32 KB of shared memory per block";
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    Shape s = tiles(p);
    s.dynamic_shared_bytes = p.k * static_cast<std::int64_t>(sizeof(std::uint32_t));
    return Steps(MemsetStep{d.sums, 0, places(p) * std::int64_t{sizeof(std::uint32_t)}}) +
           launch(shared_kernel, s, values(p, d), d.sums);
  };
  return v;
}

// ---- float_global: a float per value, in any order
//
// The same requests as global with REDG.F32 in place of REDG: L2 adds floats, too. In which order
// they come is up to the schedulers and to L2, and so is the rounding of each sum: two launches
// differ in their bits. The bound of the error grows with the values per sum, and past a million of
// them there would be no bound worth the name.

__global__ void __launch_bounds__(kBlock) float_kernel(Values v, float* sums) {
  for_tile(v, [&](std::uint32_t x) {
    if (x != 0) atomicAdd(sums + sum_of(v, x), added_float(x));
  });
}

Variant float_global() {
  Variant v = variant("float_global", "global", Pipe::fp32,
                      {{"global_reduction_requests", Direction::unchanged, 1.05, is_large},
                       {"global_load_requests", Direction::unchanged, 1.05, is_large}});
  v.writes = {"float_sums"};
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    constexpr std::int64_t kMostPerSum = 1 << 20;
    if (p.n / p.k <= kMostPerSum) return std::nullopt;
    return "needs n / k <= " + std::to_string(kMostPerSum) +
           ": sums of more floats in any order have no bound worth the name";
  };
  v.shown_at = {{"k", std::int64_t{32}}};
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return adding(float_kernel, p, d, d.float_sums);
  };
  return v;
}

// ---- float_block_first: one floating-point addition per block
//
// Threads, warps and blocks sum their floats in an order that the code fixes. Each block adds its
// sum to the result with one atomic addition, in the order in which blocks end. One atomic per
// block is enough to make results differ bitwise between launches. global_reduction_requests and
// global_load_requests equal those of block_first. The cost is the conversion of each integer to a
// float: warp_instructions increases.

__device__ __forceinline__ float sum_of_tile(const Values& v) {
  float sum = 0;
  for_tile(v, [&](std::uint32_t x) { sum += x != 0 ? added_float(x) : 0.0f; });
  return ordered_block_sum<kBlock>(sum);
}

__global__ void __launch_bounds__(kBlock) float_block_kernel(Values v, float* sums) {
  const float sum = sum_of_tile(v);
  if (threadIdx.x == 0) atomicAdd(sums, sum);
}

Variant float_block_first() {
  Variant v = variant("float_block_first", "block_first", Pipe::fp32,
                      {{"global_reduction_requests", Direction::unchanged, 1.05, is_large},
                       {"global_load_requests", Direction::unchanged, 1.05, is_large},
                       {"warp_instructions", Direction::increases, 1.5, is_large}});
  v.writes = {"block_sums"};
  v.unsupported = needs_one_sum;
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return adding(float_block_kernel, p, d, d.block_sums);
  };
  return v;
}

// ---- float_fixed_order: the blocks' sums, added up by a second kernel
//
// Blocks write their sums side by side, and one block adds them up when all have, each thread every
// 256th and then the block: no atomics, one order, the same bits in every launch. It costs a
// launch, which short sums notice. global_reduction_requests falls to none.

__global__ void __launch_bounds__(kBlock) partial_kernel(Values v, float* partials) {
  const float sum = sum_of_tile(v);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kBlock)
    total_kernel(const float* partials, std::int64_t count, float* sums) {
  float sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += kBlock)
    sum += partials[i];
  sum = ordered_block_sum<kBlock>(sum);
  if (threadIdx.x == 0) sums[0] = sum;
}

Variant float_fixed_order() {
  Variant v = variant("float_fixed_order", "float_block_first", Pipe::fp32,
                      {{"global_reduction_requests", Direction::decreases, 100, is_large},
                       {"global_load_requests", Direction::unchanged, 1.05, is_large}});
  v.writes = {"block_sums"};
  v.deterministic = true;
  v.unsupported = needs_one_sum;
  v.workspace_bytes = [](const Problem& p, const DeviceSpec&) {
    return ceil_div(p.n, kTile) * static_cast<std::int64_t>(sizeof(float));
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    auto* const partials = static_cast<float*>(x.workspace);
    Shape one = tiles(p);
    one.grid.x = 1;
    return launch(partial_kernel, tiles(p), values(p, d), partials) +
           launch(total_kernel, one, partials, ceil_div(p.n, kTile), d.block_sums);
  };
  return v;
}

// ---- inputs

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return fill_bits(d.x, p.n, stream_seed(seed, 0), 32);
}

// ---- the plain reference

// What x adds to an output's sums; a value of 0 is left out everywhere.
struct Addend {
  bool is_float;
  __host__ __device__ double operator()(std::uint32_t x) const {
    if (is_float) return x == 0 ? 0.0 : static_cast<double>(added_float(x));
    return added(x);
  }
};

struct Term {
  Values v;
  Addend addend;
  __host__ __device__ ReferenceTerm operator()(std::int64_t i) const {
    const double x = addend(v.x[i]);
    return {static_cast<std::int64_t>(sum_of(v, v.x[i])), x, fabs(x)};
  }
};

// The first output's sums are of integers, the others' of floats.
Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  Steps steps;
  for (std::size_t o = 0; o < out.size(); ++o)
    steps += evaluate_sums(out[o], places(p), p.n, Term{values(p, d), Addend{o > 0}});
  return steps;
}

// ---- declaration

// More values than this one sum has with a probability of e^-32.
double most_of_a_sum(const Problem& p) {
  const double mean = static_cast<double>(p.n) / static_cast<double>(p.k);
  return std::min(static_cast<double>(p.n), mean + 8 * std::sqrt(mean) + 40);
}

// Of a sum in which each term goes through at most so many additions, in whatever order.
Tolerance bound_of(double additions, const Problem& p) {
  const double u = unit_roundoff(DataType::fp32);
  const auto terms = static_cast<std::int64_t>(most_of_a_sum(p));
  return {additions * u / (1 - additions * u), 0.0, kRmsSafety * sum_rms(terms, DataType::fp32),
          0.0};
}

Tolerance float_tolerance(const Problem& p) {
  return bound_of(most_of_a_sum(p), p);
}

Tolerance block_tolerance(const Problem& p) {
  constexpr double kWithinBlocks = 40;
  return bound_of(static_cast<double>(ceil_div(p.n, kTile)) + kWithinBlocks, p);
}

Family declare() {
  Family f("atomics", Topic::memory, "Who adds up, and how many additions does memory see?");
  f.physics =
      "L2 does atomic additions to global memory, and each of its slices takes one 32-byte sector "
      "after the other. Additions to one address wait for each other, however many SMs ask, and "
      "addresses of different slices are served side by side. One that returns the old value makes "
      "a thread wait for the trip to L2 and back; one that does not, a reduction, does not. Values "
      "that a warp adds up beforehand, by shuffles or by redux.sync, or a block in registers and "
      "shared memory, are one addition for L2. Integers give the same sum in any order; floats are "
      "rounded by the order, so that atomic additions of floats are not deterministic.";
  f.extent("n", &Problem::n, std::int64_t{1} << 25, std::int64_t{1} << 28, "values")
      .extent("k", &Problem::k, 1, 1 << 20, "sums, of which each value adds to one")
      .integer("apart", &Problem::apart, 1, 1, 4096, "elements",
               "from one sum to the next, of 4 bytes: 1 and they share sectors of 32 bytes, 8 and "
               "each has its own, 32 and each has its own line");
  f.input("x", &Data::x, &Problem::n)
      .output("sums", &Data::sums, places)
      .output("float_sums", &Data::float_sums, places, float_tolerance)
      .output("block_sums", &Data::block_sums, places, block_tolerance);
  f.figure("atomics", "traffic", "Atomics: useful bytes per second");
  f.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    constexpr std::int64_t kMost = std::int64_t{1} << 26;
    if (places(p) <= kMost) return std::nullopt;
    return "needs k * apart <= " + std::to_string(kMost);
  };
  f.inputs = inputs;
  f.reference = reference;
  f.tolerance_derivation =
      "Sums of integers are exact: 2^28 values of at most 15 are below 2^32. A sum of floats in "
      "which a term goes through d additions, in whatever order, is off by at most d·u / (1 - d·u) "
      "times the sum of magnitudes, u = 2^-24 (Higham, Accuracy and Stability of Numerical "
      "Algorithms, 2nd ed., section 4.2). float_sums: d is at most the values of one sum, n/k in "
      "the mean, and n/k + 8·√(n/k) + 40 with a probability of 1 - e^-32 (Bernstein). block_sums: "
      "16 in a thread, 5 in a warp, 7 in a block, and one for each block, or as many within "
      "the block that adds up the blocks' sums: the blocks + 40. The RMS error: values have random "
      "signs, so that partial sums are random walks, and c values one after the other err by "
      "0.42·u·√(c/2 + 1) of the RMS sum; trees by less. Twice that is allowed.";
  f.variants(bound_by_atomics(global()), bound_by_atomics(returning()),
             bound_by_atomics(match_aggregated()), bound_by_atomics(warp_first()),
             bound_by_atomics(redux_aggregated()), block_first(), bound_by_atomics(shared_first()),
             bound_by_atomics(float_global()), float_block_first(), float_fixed_order());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::atomics
