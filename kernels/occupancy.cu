// occupancy: the same work with few or many warps, with one or several instructions per thread in
// flight, and with fewer registers than a kernel needs.
//
// The question: how many warps does a kernel need? Operations in flight come from resident warps
// (thread-level parallelism) or from independent instructions of one thread (instruction-level
// parallelism; V. Volkov, "Better performance at lower occupancy", GTC 2010). An SM must have its
// share of DRAM bandwidth times the load latency, in bytes, in flight. Each of its four schedulers
// needs four independent multiply-adds, one for each cycle of latency.
//
// The block size and an unused allocation of shared memory (ballast) set the occupancy here.
// Kernels with launch bounds set it through their registers, and may spill.
#include <algorithm>
#include <string>

#include "kernels/common/family.cuh"
#include "kernels/common/repeat.cuh"
#include "kernels/common/whole_numbers.cuh"

namespace gpuexp::occupancy {

struct Problem {
  std::int64_t n;
  int block;
  int shared_kib;
  int steps;
};

struct Data {
  float* in;     // integers
  float* copy;   // output of copies: equal to `in`
  float* added;  // output of multiply-adds: in[i] + steps
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

constexpr int kMaxThreads = 1024;

// ---- copy_ilp1: one load in flight per thread
//
// A thread loads an element, stores it, and continues with the next one. It has 4 bytes in flight,
// and an SM of 2048 threads has 8 KB. DRAM's latency at full bandwidth requires more, so bandwidth
// increases with occupancy up to the last warp.

/// Elements per lane in all copies, so that blocks have equal work for any number of loads.
constexpr int kPerLane = 16;

// A warp copies kPerLane × 32 consecutive elements, and an incomplete set one element at a time.
template <int kLoads>
__global__ void __launch_bounds__(kMaxThreads)
    copy_kernel(const float* in, float* copy, std::int64_t n) {
  const std::int64_t warp =
      (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / kWarp;
  const std::int64_t first = warp * (kPerLane * kWarp) + threadIdx.x % kWarp;
  if ((warp + 1) * (kPerLane * kWarp) <= n) {
    in += first;
    copy += first;
#pragma unroll 1
    for (int left = kPerLane; left > 0; left -= kLoads) {
      float v[kLoads];
#pragma unroll
      for (int i = 0; i < kLoads; ++i)
        v[i] = in[i * kWarp];
#pragma unroll
      for (int i = 0; i < kLoads; ++i)
        copy[i * kWarp] = v[i];
      in += kLoads * kWarp;
      copy += kLoads * kWarp;
    }
  } else {
#pragma unroll 1
    for (std::int64_t i = first; i < min(n, (warp + 1) * (kPerLane * kWarp)); i += kWarp)
      copy[i] = in[i];
  }
}

// ---- how the variants are launched

constexpr std::int64_t kKib = 1024;

// Resident blocks per SM of a kernel whose registers do not limit their number.
std::int64_t resident_blocks(std::int64_t threads, std::int64_t shared_bytes, const SmLimits& sm) {
  std::int64_t blocks = std::min<std::int64_t>(sm.max_blocks, sm.max_threads / threads);
  const std::int64_t each = shared_bytes + sm.reserved_shared_bytes;
  if (each > 0) blocks = std::min(blocks, sm.shared_bytes / each);
  return blocks;
}

std::int64_t resident_blocks(const Problem& p, const DeviceSpec& device) {
  return resident_blocks(p.block, p.shared_kib * kKib, device.sm);
}

// Ballast, in bytes per block, with which exactly `blocks` blocks are resident per SM.
std::int64_t ballast_for(std::int64_t blocks, const SmLimits& sm) {
  constexpr std::int64_t kUnit = 128;  // allocation granularity of shared memory
  const std::int64_t most = sm.shared_bytes / blocks - sm.reserved_shared_bytes;
  return std::min(sm.shared_bytes_per_block, most / kUnit * kUnit);
}

/// Share of the problem's resident blocks that a variant keeps.
enum class Warps { all = 1, half = 2, quarter = 4 };

std::int64_t shared_bytes(const Problem& p, Warps warps, const DeviceSpec& device) {
  if (warps == Warps::all) return p.shared_kib * kKib;
  const std::int64_t blocks = resident_blocks(p, device) / static_cast<int>(warps);
  return ballast_for(std::max<std::int64_t>(1, blocks), device.sm);
}

std::optional<std::string> cannot_divide(const Problem& p, Warps warps, const DeviceSpec& device) {
  const std::int64_t blocks = resident_blocks(p, device);
  const int parts = static_cast<int>(warps);
  if (blocks % parts != 0)
    return "needs a number of resident blocks divisible by " + std::to_string(parts) +
           "; here it is " + std::to_string(blocks);
  if (resident_blocks(p.block, shared_bytes(p, warps, device), device.sm) != blocks / parts)
    return "needs more shared memory per block than this device has";
  return std::nullopt;
}

double resident_warps(const Problem& p, Warps warps, const DeviceSpec& device) {
  const auto blocks = resident_blocks(p.block, shared_bytes(p, warps, device), device.sm);
  return static_cast<double>(blocks * p.block / kWarp);
}

// Problems where a partial last wave has little effect.
bool fills_gpu(const Problem& p) {
  constexpr std::int64_t kManyBlocks = 4096;
  return p.n / (kPerLane * p.block) >= kManyBlocks;
}

Variant of_n(std::string id, std::string compare_to, std::string output,
             ExpectedChangesOf<Problem> expected) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.writes = {std::move(output)};
  v.work = [](const Problem& p) { return streaming_work<float>(p.n, p.n); };
  return v;
}

template <int kLoads>
Variant copy(std::string id, std::string compare_to, Warps warps,
             ExpectedChangesOf<Problem> expected) {
  Variant v = of_n(std::move(id), std::move(compare_to), "copy", std::move(expected));
  v.unsupported = [warps](const Problem& p, const DeviceSpec& device) {
    return cannot_divide(p, warps, device);
  };
  v.metrics = [warps](const Problem& p, const DeviceSpec& device) {
    const double bytes = kLoads * static_cast<double>(sizeof(float));
    return MetricValues{
        {kBytesInFlightMetric, bytes},
        {"bytes_in_flight_per_sm", bytes * kWarp * resident_warps(p, warps, device)}};
  };
  v.launch = [warps](const Problem& p, const Data& d, const LaunchContext& x) {
    return launch(
        copy_kernel<kLoads>,
        shape_of_tiles({p.n}, {kPerLane * p.block}, p.block, shared_bytes(p, warps, x.device)),
        d.in, d.copy, p.n);
  };
  return v;
}

Variant copy_ilp1() {
  return copy<1>("copy_ilp1", "", Warps::all, {});
}

// ---- copy_ilp2: two loads in flight per thread
//
// Each thread issues two loads before it stores the first value. The same number of warps has twice
// the bytes in flight, so fewer warps achieve the bandwidth that copy_ilp1 achieves with all of
// them. The cost is one register per load. Each request still has 128 bytes: global_load_requests
// is unchanged. warp_instructions decreases.
// held: metric.bytes_in_flight_per_sm = 2 × copy_ilp1

Variant copy_ilp2() {
  return copy<2>("copy_ilp2", "copy_ilp1", Warps::all,
                 {{"warp_instructions", Direction::decreases, 1.1, fills_gpu},
                  {"global_load_requests", Direction::unchanged},
                  {"active_warps_per_sm", Direction::unchanged, 1.15, fills_gpu}});
}

// ---- copy_ilp4: four loads in flight per thread
//
// Each thread issues four loads at a time: a quarter of the warps has as many bytes in flight as
// all warps of copy_ilp1. At high occupancy, bandwidth no longer grows with the bytes in flight.
// warp_instructions decreases again.
// held: metric.bytes_in_flight_per_sm = 4 × copy_ilp1

Variant copy_ilp4() {
  return copy<4>("copy_ilp4", "copy_ilp2", Warps::all,
                 {{"warp_instructions", Direction::decreases, 1.05, fills_gpu},
                  {"global_load_requests", Direction::unchanged},
                  {"active_warps_per_sm", Direction::unchanged, 1.15, fills_gpu}});
}

// ---- copy_half_warps: fewer warps, two loads in flight per thread
//
// This is copy_ilp2 with so much ballast that half as many blocks are resident as in copy_ilp1:
// half the warps, each with twice the bytes in flight. active_warps_per_sm halves while
// bytes_in_flight_per_sm is the same. The bandwidth should be the same as well, because bytes in
// flight and not occupancy determine it.

Variant copy_half_warps() {
  return copy<2>("copy_half_warps", "copy_ilp1", Warps::half,
                 {{"active_warps_per_sm", Direction::decreases, 1.7, fills_gpu},
                  {"global_load_requests", Direction::unchanged}});
}

// ---- copy_quarter_warps: fewer warps, four loads in flight per thread
//
// This is copy_ilp4 with a quarter of the resident blocks: one warp has four loads in flight
// instead of four warps with one load each. It has as many bytes in flight as copy_ilp1, except
// that a warp issues no new loads while it waits for the last of its four. active_warps_per_sm
// decreases.
// held: blocks_per_sm = 1/4 × copy_ilp1

Variant copy_quarter_warps() {
  return copy<4>("copy_quarter_warps", "copy_half_warps", Warps::quarter,
                 {{"active_warps_per_sm", Direction::decreases, 1.7, fills_gpu},
                  {"global_load_requests", Direction::unchanged}});
}

// ---- fma_ilp1: a chain of multiply-adds per thread
//
// Each multiply-add needs the previous result, so a warp issues at most once in four cycles. Four
// warps per scheduler could fill its issue slots, and fewer fill at most 1/4 = 0.25 of them per
// warp. The measured issue_active_pct is lower, because issue slots stay empty after a block ends
// until the next block has loaded its elements.

// Each thread has kChains chains of one element each. The loop overhead per multiply-add is the
// same for every kChains.
template <int kChains>
__global__ void __launch_bounds__(kMaxThreads)
    fma_kernel(const float* in, float* added, std::int64_t n, int steps, float one) {
  constexpr int kUnrolled = 256 / kChains;
  const int threads = blockDim.x;
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * (kChains * threads) + threadIdx.x;
  float x[kChains];
#pragma unroll
  for (int i = 0; i < kChains; ++i)
    x[i] = first + i * threads < n ? in[first + i * threads] : 0.0f;
  repeat<kUnrolled>(steps, [&] {
#pragma unroll
    for (int i = 0; i < kChains; ++i)
      x[i] = fmaf(x[i], one, one);
  });
#pragma unroll
  for (int i = 0; i < kChains; ++i) {
    if (first + i * threads < n) added[first + i * threads] = x[i];
  }
}

constexpr float kOne = 1.0f;  // as a value unknown to the compiler

Work multiply_adds(const Problem& p) {
  return streaming_work<float>(p.n, p.n, {{Pipe::fp32, 2.0 * static_cast<double>(p.n) * p.steps}});
}

template <int kChains>
Variant fma(std::string id, std::string compare_to, Warps warps,
            ExpectedChangesOf<Problem> expected) {
  Variant v = of_n(std::move(id), std::move(compare_to), "added", std::move(expected));
  v.work = multiply_adds;
  v.unsupported = [warps](const Problem& p, const DeviceSpec& device) {
    return cannot_divide(p, warps, device);
  };
  v.metrics = [warps](const Problem& p, const DeviceSpec& device) {
    constexpr int kSchedulers = 4;
    return MetricValues{{"independent_fmas_per_scheduler",
                         kChains * resident_warps(p, warps, device) / kSchedulers}};
  };
  v.launch = [warps](const Problem& p, const Data& d, const LaunchContext& x) {
    return launch(
        fma_kernel<kChains>,
        shape_of_tiles({p.n}, {kChains * p.block}, p.block, shared_bytes(p, warps, x.device)), d.in,
        d.added, p.n, p.steps, kOne);
  };
  return v;
}

Variant fma_ilp1() {
  return fma<1>("fma_ilp1", "", Warps::all, {});
}

// Problems with one warp per scheduler, on any device with enough shared memory.
bool has_four_warps(const Problem& p) {
  constexpr int kFourWarps = 4 * kWarp;
  constexpr int kHalfSmKib = 114;  // two such blocks exceed an SM's shared memory, at most 228 KiB
  constexpr int kLongEnough = 1024;
  return p.block == kFourWarps && p.shared_kib >= kHalfSmKib && p.steps >= kLongEnough &&
         fills_gpu(p);
}

// ---- fma_ilp2: two chains of multiply-adds per thread
//
// Each thread has two independent chains, so half as many blocks do the same work. A warp issues
// two multiply-adds in four cycles: with one warp per scheduler issue_active_pct nearly doubles.
// With many warps per scheduler, the issue slots are full already, and a second chain gains
// nothing. fma_instructions is unchanged. The cost is a register per chain.
// held: blocks = 1/2 × fma_ilp1

Variant fma_ilp2() {
  return fma<2>("fma_ilp2", "fma_ilp1", Warps::all,
                {{"issue_active_pct", Direction::increases, 1.7, has_four_warps},
                 {"fma_instructions", Direction::unchanged, kUnchangedFactor, fills_gpu}});
}

// ---- fma_ilp4: four chains of multiply-adds per thread
//
// Each thread has four independent chains. A chain can issue its next multiply-add after four
// cycles; the other three chains use the cycles in between. With one warp per scheduler, of the 64 /
// 4 = 16 that it can hold, issue_active_pct increases again. fma_instructions is unchanged. The cost
// is a register per chain.

Variant fma_ilp4() {
  return fma<4>("fma_ilp4", "fma_ilp2", Warps::all,
                {{"issue_active_pct", Direction::increases, 1.5, has_four_warps},
                 {"fma_instructions", Direction::unchanged, kUnchangedFactor, fills_gpu}});
}

// ---- fma_half_warps: fewer warps, two chains per thread
//
// This is fma_ilp2 with so much ballast that half as many blocks are resident as in fma_ilp1:
// active_warps_per_sm halves. issue_active_pct is unchanged, because a scheduler has as many
// independent multiply-adds as in fma_ilp1.

Variant fma_half_warps() {
  return fma<2>("fma_half_warps", "fma_ilp1", Warps::half,
                {{"active_warps_per_sm", Direction::decreases, 1.7, fills_gpu},
                 {"fma_instructions", Direction::unchanged, kUnchangedFactor, fills_gpu}});
}

// ---- values in registers, with launch bounds

constexpr int kHeld = 80;        // values per thread, all of them used in each step
constexpr int kHeldBlock = 256;  // threads per block, as in the launch bounds
constexpr std::int64_t kHeldPerBlock = std::int64_t{kHeld} * kHeldBlock;

// The values are accumulators that must stay in registers until the last step, as in a register
// tile. In a block with fewer elements than it could hold, each thread processes its elements one
// by one.
__device__ inline void add_steps(const float* in, float* added, std::int64_t n, int steps,
                                 float one) {
  const std::int64_t begin = blockIdx.x * kHeldPerBlock + threadIdx.x;
  if ((blockIdx.x + 1) * kHeldPerBlock <= n) {
    in += begin;
    added += begin;
    float x[kHeld];
#pragma unroll
    for (int i = 0; i < kHeld; ++i)
      x[i] = in[i * kHeldBlock];
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
#pragma unroll
      for (int i = 0; i < kHeld; ++i)
        x[i] = fmaf(x[i], one, one);
    }
#pragma unroll
    for (int i = 0; i < kHeld; ++i)
      added[i * kHeldBlock] = x[i];
  } else {
#pragma unroll 1
    for (std::int64_t i = begin; i < n; i += kHeldBlock) {
      float x = in[i];
#pragma unroll 1
      for (int step = 0; step < steps; ++step)
        x = fmaf(x, one, one);
      added[i] = x;
    }
  }
}

Variant held(std::string id, std::string compare_to,
             void (*kernel)(const float*, float*, std::int64_t, int, float),
             ExpectedChangesOf<Problem> expected) {
  Variant v = of_n(std::move(id), std::move(compare_to), "added", std::move(expected));
  v.work = multiply_adds;
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (p.block == kHeldBlock && p.shared_kib == 0) return std::nullopt;
    return "needs block = " + std::to_string(kHeldBlock) +
           ", as in its launch bounds, and shared_kib = 0";
  };
  v.launch = [kernel](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(kernel, shape_of_tiles(p.n, kHeldPerBlock, kHeldBlock), d.in, d.added, p.n,
                  p.steps, kOne);
  };
  return v;
}

constexpr auto has_whole_blocks = at_least(&Problem::n, kHeldPerBlock);
bool fills_gpu_with_held(const Problem& p) {
  constexpr std::int64_t kManyBlocks = 2048;
  return p.n / kHeldPerBlock >= kManyBlocks;
}
// Problems whose steps outweigh the loads before them and the stores after them.
bool has_many_steps(const Problem& p) {
  constexpr int kMany = 16;
  return has_whole_blocks(p) && p.steps >= kMany;
}

// ---- held_natural: no register limit
//
// Each thread keeps 80 values in registers and applies one multiply-add to each of them per step. A
// warp has an independent multiply-add for every cycle, so it needs no other warp to hide latency.
// The registers leave room for two blocks of 256 threads per SM, which costs no time:
// local_load_requests is 0.
// held: blocks_per_sm = 2; local_load_requests = 0

__global__ void __launch_bounds__(kHeldBlock)
    held_natural_kernel(const float* in, float* added, std::int64_t n, int steps, float one) {
  add_steps(in, added, n, steps, one);
}

Variant held_natural() {
  return held("held_natural", "", held_natural_kernel, {});
}

// ---- held_capped_64: registers limited for four blocks per SM
//
// __launch_bounds__(256, 4) requests four resident blocks, which leaves 65536 / (4 × 256) = 64
// registers per thread. active_warps_per_sm doubles. The compiler spills the other values to local
// memory, and each step loads and stores them: local_load_requests increases. L1 has room for the
// spilled values of all resident warps. The load-store unit executes these loads and stores, and
// accepts one request per cycle from all four schedulers.
// held: registers_per_thread = 64; active_warps_per_sm = 2 × held_natural within 5 % at steps=256
// held: blocks_per_sm = 4

__global__ void __launch_bounds__(kHeldBlock, 4)
    held_capped_64_kernel(const float* in, float* added, std::int64_t n, int steps, float one) {
  add_steps(in, added, n, steps, one);
}

Variant held_capped_64() {
  return held("held_capped_64", "held_natural", held_capped_64_kernel,
              {{"local_load_requests", Direction::increases, 2, has_whole_blocks},
               {"active_warps_per_sm", Direction::increases, 1.5, fills_gpu_with_held},
               {"fma_instructions", Direction::unchanged, kUnchangedFactor, has_many_steps}});
}

// ---- held_capped_64_shared: spills to shared memory
//
// The pragma enable_smem_spilling of nvcc 13 lets the compiler spill to unused shared memory, as
// long as four blocks remain resident. Spilled values still need loads and stores, but these look
// up no tag and use no L1 capacity. local_load_requests decreases, and shared_load_wavefronts
// increases.

__global__ void __launch_bounds__(kHeldBlock, 4)
    held_capped_64_shared_kernel(const float* in, float* added, std::int64_t n, int steps,
                                 float one) {
  asm volatile(".pragma \"enable_smem_spilling\";");
  add_steps(in, added, n, steps, one);
}

Variant held_capped_64_shared() {
  return held("held_capped_64_shared", "held_capped_64", held_capped_64_shared_kernel,
              {{"local_load_requests", Direction::decreases, 1.3, has_whole_blocks},
               {"shared_load_wavefronts", Direction::increases, 2, has_whole_blocks},
               {"fma_instructions", Direction::unchanged, kUnchangedFactor, has_many_steps}});
}

// ---- held_capped_32: registers limited for eight blocks per SM
//
// 32 registers per thread make all of an SM's warps resident, but most values of a thread are
// spilled. local_load_requests increases with the number of spilled values. The spilled values of
// all resident warps exceed the capacity of L1: local_load_hit_pct decreases, and l2_sectors
// increases.
// held: registers_per_thread = 32; blocks_per_sm = 8

__global__ void __launch_bounds__(kHeldBlock, 8)
    held_capped_32_kernel(const float* in, float* added, std::int64_t n, int steps, float one) {
  add_steps(in, added, n, steps, one);
}

Variant held_capped_32() {
  return held("held_capped_32", "held_capped_64", held_capped_32_kernel,
              {{"local_load_requests", Direction::increases, 1.3, has_whole_blocks},
               {"active_warps_per_sm", Direction::increases, 1.35, fills_gpu_with_held},
               {"fma_instructions", Direction::unchanged, kUnchangedFactor, has_many_steps}});
}

// ---- inputs and the plain reference

struct Added {
  const float* in;
  int steps;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    return {static_cast<double>(in[i]) + steps, 0.0};
  }
};

// ---- declaration

std::optional<std::string> unsupported(const Problem& p, const DeviceSpec& device) {
  if (p.block % kWarp != 0) return "needs block to be a multiple of 32";
  const std::int64_t most = device.sm.shared_bytes_per_block / kKib;
  if (p.shared_kib > most)
    return "needs shared_kib <= " + std::to_string(most) + ", this device's maximum per block";
  return std::nullopt;
}

Family declare() {
  Family f("occupancy", Topic::execution, "How many warps does a kernel need?");
  f.physics =
      "By Little's law, throughput times latency is the number of operations in flight: warps "
      "times the operations in flight per warp. Throughput therefore grows with occupancy until "
      "latency is hidden, and is constant beyond. A thread with twice the independent "
      "instructions reaches this point with half the warps. Threads, block slots, registers or "
      "shared memory, whichever an SM exhausts first, limit the resident warps. A kernel with "
      "fewer registers than it needs spills the rest to local memory, and each use of a spilled "
      "value costs a load or a store.";
  constexpr int kMaxSteps = 1 << 16;
  f.extent("n", &Problem::n, std::int64_t{1} << 26, std::int64_t{1} << 32, "fp32 elements")
      .integer("block", &Problem::block, 256, kWarp, kMaxThreads, "threads",
               "threads per block, a multiple of 32")
      .integer("shared_kib", &Problem::shared_kib, 0, 0, 227, "KiB",
               "shared memory per block that the kernel does not use")
      .integer("steps", &Problem::steps, 1024, 1, kMaxSteps, "",
               "multiply-adds per element; ignored by copies");
  f.input("in", &Data::in, &Problem::n)
      .output("copy", &Data::copy, &Problem::n)
      .output("added", &Data::added, &Problem::n);
  f.metric(kBytesInFlightMetric, "B", "bytes of the loads that a thread issues before it waits")
      .metric("bytes_in_flight_per_sm", "B", "bytes in flight of all resident threads of an SM")
      .metric("independent_fmas_per_scheduler", "",
              "independent chains per scheduler: chains per thread × resident warps / 4");
  f.plot("occupancy", "rate_over_occupancy", "Occupancy: throughput by resident warps");
  f.unsupported = unsupported;
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    return fill(d.in, p.n, WholeStart{stream_seed(seed, 0)});
  };
  set_references(f, &Problem::n, [](const Problem& p, const Data& d, int o) {
    return Added{d.in, o == 0 ? 0 : p.steps};
  });
  f.tolerance_derivation =
      "Zero: a copy keeps every bit. A multiply-add with a factor and an addend of 1 adds 1 to an "
      "integer. Starts below 2^10 and up to 2^16 steps stay below 2^24, and fp32 represents all "
      "integers up to 2^24.";
  static_assert(kIntegerRange + kMaxSteps < kMaxExactInteger, "sums are exact");
  f.variants(copy_ilp1(), copy_ilp2(), copy_ilp4(), copy_half_warps(), copy_quarter_warps(),
             fma_ilp1(), fma_ilp2(), fma_ilp4(), fma_half_warps(), held_natural(), held_capped_64(),
             held_capped_64_shared(), held_capped_32());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::occupancy
