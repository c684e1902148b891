// atomics: n values are added to k sums; any thread may add to any sum.
//
// The question: how does the time depend on the number of atomic additions that reach L2? Most
// variants sum values within a warp or a block first.
#include <algorithm>
#include <cmath>
#include <vector>

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
  float* float_sums;  // one addition per value, in any order
  float* block_sums;  // one addition per block, in any order
};

struct Values {
  const std::uint32_t* x;
  std::int64_t n;
  std::uint32_t k;
  std::uint32_t apart;
};

// Returns the array index of the sum that `x` is added to. The upper bits of x select the sum; the
// lower 4 bits are the integer to add.
__host__ __device__ inline std::uint32_t sum_of(const Values& v, std::uint32_t x) {
  return static_cast<std::uint32_t>(std::uint64_t{x} * v.k >> 32) * v.apart;
}
constexpr std::uint32_t kMaxAdded = 15;
__host__ __device__ inline std::uint32_t added(std::uint32_t x) {
  return x & kMaxAdded;
}
// Returns the float that x adds, from its lower 16 bits: a multiple of 2^-16 / 1.5 in [-1/3, 1/3),
// rounded to fp32. __fmul_rn prevents the compiler from fusing the product with the addition.
__host__ __device__ inline float added_float(std::uint32_t x) {
  constexpr float kStep = 0x1p-16f / 1.5f;
  const auto steps = static_cast<float>(static_cast<int>(x & 0xffff) - 0x8000);
#ifdef __CUDA_ARCH__
  return __fmul_rn(steps, kStep);
#else
  return steps * kStep;
#endif
}

// ---- global: one atomic addition per value
//
// An atomicAdd whose result is unused compiles to a reduction (REDG): the thread sends the addition
// to L2 and continues. A warp sends one request for its 32 values, which L2 splits by sectors. With
// one sum, all additions go to one sector of one slice.

constexpr int kBlock = 256;
constexpr int kVectors = 4;  // 16-byte vectors per thread
constexpr int kTile = kBlock * kVectors * 4;

// Calls add(x) for each of this thread's values of the block's tile. All lanes of a warp call add
// together. Past the end of the array x is 0, for which `add` must add nothing.
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

// ---- returning: atomic additions that return the old value
//
// The thread uses the old value of the sum, here to check for overflow. The addition therefore
// compiles to ATOMG instead of REDG: global_reduction_requests becomes global_atomic_requests. Each
// addition takes a round trip to L2, which returns 4 bytes per lane, and warps wait for it
// (stalled_long_scoreboard).

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

// ---- match_aggregated: one addition per distinct sum of a warp
//
// __match_any_sync finds the lanes that add to the same sum, __reduce_add_sync sums their values,
// and the lowest of these lanes adds the result to memory. L2 receives one addition per distinct
// sum of the warp instead of one per value. The warp reduces these groups of lanes one after
// another: one group if there is one sum, nearly 32 if there are many. warp_instructions increases
// with the number of distinct sums. global_load_requests is unchanged.

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

// ---- warp_first: warp sum with shuffles, one addition per warp
//
// If there is only one sum, a warp sums its values with __shfl_down_sync in five steps, and one
// lane adds the result to memory. The warp sends as many requests as in global, each with one
// active lane instead of 32: global_reduction_requests is unchanged. The cost is five shuffles and
// five additions per value: warp_instructions increases.

__global__ void __launch_bounds__(kBlock) shuffle_kernel(Values v, std::uint32_t* sums) {
  for_tile(v, [&](std::uint32_t x) {
    const std::uint32_t sum = warp_sum(added(x));
    if (threadIdx.x % kWarp == 0) atomicAdd(sums + sum_of(v, x), sum);
  });
}

std::optional<std::string> needs_one_sum(const Problem& p, const DeviceSpec&) {
  if (p.k == 1) return std::nullopt;
  return "needs k = 1: the lanes of a warp add to the same sum";
}

Variant warp_first() {
  Variant v = of_integers("warp_first", "global", shuffle_kernel,
                          {{"global_reduction_requests", Direction::unchanged, 1.05, is_large},
                           {"warp_instructions", Direction::increases, 1.5, is_large}});
  v.unsupported = needs_one_sum;
  return v;
}

// ---- redux_aggregated: warp sum with redux.sync
//
// One redux.sync instruction (compute capability 8.0) sums the integers of a warp. It replaces five
// shuffles and five additions of warp_first: warp_instructions decreases, and
// global_reduction_requests is unchanged. nvcc also generates redux.sync for an atomicAdd whose
// address it knows to be uniform, unlike global's.

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
// Each thread sums its 16 values in a register, its warp with shuffles and its block in shared
// memory, and one thread adds the block's sum to memory. A block has 16 × 256 = 4096 values, for
// which redux_aggregated sends 4096 / 32 = 128 requests; block_first sends one request with one
// addition: global_reduction_requests decreases. warp_instructions decreases, because each thread
// sums its values without shuffles.
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
// global_reduction_requests falls to 1/128 for k ≤ 32 and to k/4096 for larger k. With one sum, L2
// adds one value per block instead of 4096. Lanes whose sums share a bank of shared memory are
// serialized within the SM. global_load_requests is unchanged.
// held: global_reduction_requests = 1/128 × global at k=32
// held: global_reduction_requests = 1/4 × global at k=1024

constexpr std::int64_t kMaxShared = 8192;  // sums, which occupy 32 KB

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
    if (p.k <= kMaxShared) return std::nullopt;
    return "needs k <= " + std::to_string(kMaxShared) + ", 32 KB of shared memory per block";
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    Shape s = tiles(p);
    s.dynamic_shared_bytes = p.k * static_cast<std::int64_t>(sizeof(std::uint32_t));
    return Steps(MemsetStep{d.sums, 0, places(p) * std::int64_t{sizeof(std::uint32_t)}}) +
           launch(shared_kernel, s, values(p, d), d.sums);
  };
  return v;
}

// ---- float_global: floating-point atomics, one per value
//
// The kernel sends the same requests as global, with REDG.F32 instead of REDG:
// global_reduction_requests and global_load_requests are unchanged. The order of the additions, and
// so the rounding of each sum, differs between launches. The error bound grows with the number of
// values per sum. Above 2^20 values per sum it is too large to verify a result, and the variant is
// skipped.

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
    constexpr std::int64_t kMaxPerSum = 1 << 20;
    if (p.n / p.k <= kMaxPerSum) return std::nullopt;
    return "needs n / k <= " + std::to_string(kMaxPerSum) +
           ": the error bound of more floats in any order is too large to verify a sum";
  };
  v.shown_at = {{"k", std::int64_t{32}}};
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return adding(float_kernel, p, d, d.float_sums);
  };
  return v;
}

// ---- float_block_first: one floating-point addition per block
//
// Each block sums its floats in a fixed order and adds its sum to the result with one atomic
// addition, in the order in which blocks end. One atomic per block is enough to make results differ
// bitwise between launches. global_reduction_requests and global_load_requests equal those of
// block_first. The cost is the conversion of each integer to a float: warp_instructions increases.

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

// ---- float_fixed_order: a second kernel sums the per-block partial sums
//
// Each block stores its partial sum. A second kernel of one block sums the partial sums in a fixed
// order: each thread sums every 256th partial sum, then the block sums its threads' results.
// Without atomics, results are bitwise identical in every launch, and global_reduction_requests
// decreases to zero. The cost is a second launch, which matters for short arrays.
// global_load_requests is unchanged.

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

// Returns the number that `x` adds to a sum, as a float or an integer. All variants skip x = 0.
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

// Output 0 has integer sums, the other outputs have float sums.
Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  Steps steps;
  for (std::size_t o = 0; o < out.size(); ++o)
    steps += evaluate_sums(out[o], places(p), p.n, Term{values(p, d), Addend{o > 0}});
  return steps;
}

// ---- declaration

// Returns a number of values per sum that is exceeded with a probability of at most e^-32.
double max_values_per_sum(const Problem& p) {
  const double mean = static_cast<double>(p.n) / static_cast<double>(p.k);
  return std::min(static_cast<double>(p.n), mean + 8 * std::sqrt(mean) + 40);
}

// Returns the tolerance of sums in which each term takes part in at most `additions` additions, in
// any order.
Tolerance bound_of(double additions, const Problem& p) {
  const double u = unit_roundoff(DataType::fp32);
  const auto terms = static_cast<std::int64_t>(max_values_per_sum(p));
  return {additions * u / (1 - additions * u), 0.0, kRmsSafety * sum_rms(terms, DataType::fp32),
          0.0};
}

Tolerance float_tolerance(const Problem& p) {
  return bound_of(max_values_per_sum(p), p);
}

Tolerance block_tolerance(const Problem& p) {
  constexpr double kWithinBlocks = 40;
  return bound_of(static_cast<double>(ceil_div(p.n, kTile)) + kWithinBlocks, p);
}

Family declare() {
  Family f("atomics", Topic::memory,
           "How does the time of a sum depend on the atomic additions that reach L2?");
  f.physics =
      "L2 performs atomic additions to global memory, and each of its slices processes one 32-byte "
      "sector at a time. Additions to one address wait for each other, regardless of how many SMs "
      "send them; different slices process different addresses concurrently. If an addition "
      "returns the old value, the thread waits for a round trip to L2; if it does not (a "
      "reduction), the thread continues. Values that a warp sums first, with shuffles or "
      "redux.sync, or that a block sums in registers and shared memory, are one addition in L2. "
      "Integer sums are the same in any order. Float sums round differently in each order, so "
      "atomic additions of floats are not deterministic.";
  f.extent("n", &Problem::n, std::int64_t{1} << 25, std::int64_t{1} << 28, "number of values")
      .extent("k", &Problem::k, 1, 1 << 20, "number of sums; each value is added to one of them")
      .integer("apart", &Problem::apart, 1, 1, 4096, "elements",
               "stride between sums in elements of 4 bytes; 1: sums share sectors of 32 bytes; 8: "
               "each sum has its own sector; 32: each has its own line");
  f.input("x", &Data::x, &Problem::n)
      .output("sums", &Data::sums, places)
      .output("float_sums", &Data::float_sums, places, float_tolerance)
      .output("block_sums", &Data::block_sums, places, block_tolerance);
  f.plot("atomics", "traffic", "Atomic additions: useful bandwidth");
  f.ceilings = {CeilingRows::rate("atomic_address", {"global"}, Mode::warm, "operations")
                    .where("k", "1")
                    .without_launch(),
                CeilingRows::rate("atomic_sectors", {"global"}, Mode::warm, "operations")
                    .where("k", "1048576")
                    .without_launch()};
  f.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    constexpr std::int64_t kMost = std::int64_t{1} << 26;
    if (places(p) <= kMost) return std::nullopt;
    return "needs k * apart <= " + std::to_string(kMost);
  };
  f.inputs = inputs;
  f.reference = reference;
  f.tolerance_derivation =
      "Sums of integers are exact: 2^28 values of at most 15 are below 2^32. A sum of floats in "
      "which a term takes part in d additions, in any order, differs from the exact sum by at most "
      "d·u / (1 - d·u) times the sum of magnitudes, u = 2^-24 (Higham, Accuracy and Stability of "
      "Numerical Algorithms, 2nd ed., section 4.2). float_sums: d is at most the number of values "
      "of one sum, n/k on average, and at most n/k + 8·√(n/k) + 40 with a probability of 1 - e^-32 "
      "(Bernstein). block_sums: d is 16 in a thread, 5 in a warp, 7 in a block, and one for each "
      "block, or as many within the block that sums the partial sums: at most the number of blocks "
      "+ 40. The RMS error: values have random signs, so partial sums are random walks, and c "
      "sequential additions err by 0.42·u·√(c/2 + 1) of the RMS sum; trees err by less. Twice this "
      "error is allowed.";
  f.variants(global(), returning(), match_aggregated(), warp_first(), redux_aggregated(),
             block_first(), shared_first(), float_global(), float_block_first(),
             float_fixed_order());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::atomics
