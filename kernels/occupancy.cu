// occupancy: the same work by few warps and by many, with one instruction of a thread in flight and
// with several; and what registers cost that a kernel is not given.
//
// The question: how many warps does a kernel need? Little's law: what is in flight is rate times
// latency. It says nothing of warps. To get its share of DRAM's bandwidth an SM has to have that
// share times the latency of a load in flight, and for each of its four schedulers to issue a
// multiply-add per clock there have to be as many independent ones as one takes clocks, four.
// Resident warps bring them (thread-level parallelism), and so do independent instructions of one
// thread (instruction-level parallelism; V. Volkov, "Better performance at lower occupancy", GTC
// 2010). How many warps are resident, their occupancy, is what threads, blocks, registers and
// shared memory of an SM have room for, whichever is used up first.
//
// Here the block's size and a ballast of shared memory, which no kernel uses, set the occupancy;
// kernels with launch bounds set it by their registers, and pay with spills.
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
  float* in;     // whole numbers
  float* copy;   // as `in`: of copies
  float* added;  // in[i] + steps: of multiply-adds
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

constexpr int kMostThreads = 1024;

// ---- copy_ilp1: one load in flight per thread
//
// A thread loads an element, stores it, and continues with the next one. This is 4 bytes in flight
// per resident thread, 8 KB on an SM of 2048 threads. That is too few to cover DRAM's latency at
// full bandwidth, so bandwidth increases with occupancy up to the last warp.

/// Elements of a lane in all copies, so that blocks are equal whatever is in flight.
constexpr int kPerLane = 16;

// A warp copies kPerLane × 32 elements in a row, and none beyond the end one by one.
template <int kLoads>
__global__ void __launch_bounds__(kMostThreads)
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

// Of kernels with so few registers that these leave room for all threads of an SM.
std::int64_t resident_blocks(std::int64_t threads, std::int64_t shared_bytes, const SmLimits& sm) {
  std::int64_t blocks = std::min<std::int64_t>(sm.max_blocks, sm.max_threads / threads);
  const std::int64_t each = shared_bytes + sm.reserved_shared_bytes;
  if (each > 0) blocks = std::min(blocks, sm.shared_bytes / each);
  return blocks;
}

std::int64_t resident_blocks(const Problem& p, const DeviceSpec& device) {
  return resident_blocks(p.block, p.shared_kib * kKib, device.sm);
}

// With which so many blocks are resident, and not one more.
std::int64_t ballast_for(std::int64_t blocks, const SmLimits& sm) {
  constexpr std::int64_t kUnit = 128;  // in which shared memory is given out
  const std::int64_t most = sm.shared_bytes / blocks - sm.reserved_shared_bytes;
  return std::min(sm.shared_bytes_per_block, most / kUnit * kUnit);
}

/// What a variant does to the number of blocks that the problem lets be resident.
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
    return "needs a number of resident blocks that " + std::to_string(parts) +
           " divides; here it is " + std::to_string(blocks);
  if (resident_blocks(p.block, shared_bytes(p, warps, device), device.sm) != blocks / parts)
    return "needs more shared memory per block than this device has";
  return std::nullopt;
}

double resident_warps(const Problem& p, Warps warps, const DeviceSpec& device) {
  const auto blocks = resident_blocks(p.block, shared_bytes(p, warps, device), device.sm);
  return static_cast<double>(blocks * p.block / kWarp);
}

// Where the last blocks, of which some SMs have fewer, are few among all.
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

// ---- copy_ilp2
//
// Two loads before the first is stored: twice the bytes in flight from as many warps, so that fewer
// warps get the bandwidth that copy_ilp1 gets from all of them. It costs a register per load. A
// request stays 128 bytes: global_load_requests is unchanged. The loop's own instructions are
// divided among two elements, and warp_instructions falls.
// held: metric.bytes_in_flight_per_sm = 2 × copy_ilp1

Variant copy_ilp2() {
  return copy<2>("copy_ilp2", "copy_ilp1", Warps::all,
                 {{"warp_instructions", Direction::decreases, 1.1, fills_gpu},
                  {"global_load_requests", Direction::unchanged},
                  {"active_warps_per_sm", Direction::unchanged, 1.15, fills_gpu}});
}

// ---- copy_ilp4
//
// Four loads at a time: with a quarter of the warps as many bytes are in flight as copy_ilp1 has
// with all. Where occupancy is high the bytes in flight are more than DRAM's latency asks for, and
// bandwidth no longer grows with them.
// held: metric.bytes_in_flight_per_sm = 4 × copy_ilp1

Variant copy_ilp4() {
  return copy<4>("copy_ilp4", "copy_ilp2", Warps::all,
                 {{"warp_instructions", Direction::decreases, 1.05, fills_gpu},
                  {"global_load_requests", Direction::unchanged},
                  {"active_warps_per_sm", Direction::unchanged, 1.15, fills_gpu}});
}

// ---- copy_half_warps
//
// copy_ilp2 with so much ballast that half as many blocks are resident as of copy_ilp1: half the
// warps, twice in flight. active_warps_per_sm halves, bytes_in_flight_per_sm is the same, and so
// should the bandwidth be: occupancy is not what decides.

Variant copy_half_warps() {
  return copy<2>("copy_half_warps", "copy_ilp1", Warps::half,
                 {{"active_warps_per_sm", Direction::decreases, 1.7, fills_gpu},
                  {"global_load_requests", Direction::unchanged}});
}

// ---- copy_quarter_warps
//
// copy_ilp4 with a quarter of the resident blocks: four loads of one warp in place of one load of
// four. What is in flight is what copy_ilp1 has, less what a warp lacks that waits for the last of
// its four.
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
// warp. The measured issue_active_pct is lower: when a block ends, its warps' issue slots stay
// empty until its successor has started and loaded its elements. More resident blocks hide these
// gaps.

// A thread has kChains chains, each of an element. The loop's own instructions are as many for each
// multiply-add, whatever kChains is.
template <int kChains>
__global__ void __launch_bounds__(kMostThreads)
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

constexpr float kOne = 1.0f;  // which the compiler does not know

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

// One warp per scheduler, on any device that has so much shared memory.
bool has_four_warps(const Problem& p) {
  constexpr int kFourWarps = 4 * kWarp;
  constexpr int kHalfSmKib = 114;  // two such blocks are more than an SM has, up to 228 KiB
  constexpr int kLongEnough = 1024;
  return p.block == kFourWarps && p.shared_kib >= kHalfSmKib && p.steps >= kLongEnough &&
         fills_gpu(p);
}

// ---- fma_ilp2: two chains of multiply-adds per thread
//
// Each thread has two independent chains, and half as many blocks of threads do the same work. A
// warp has two multiply-adds to issue in four cycles: with one warp per scheduler issue_active_pct
// nearly doubles. With many warps per scheduler the issue slots are full already, and nothing is
// gained. fma_instructions is unchanged. The cost is a register per chain.
// held: blocks = 1/2 × fma_ilp1

Variant fma_ilp2() {
  return fma<2>("fma_ilp2", "fma_ilp1", Warps::all,
                {{"issue_active_pct", Direction::increases, 1.7, has_four_warps},
                 {"fma_instructions", Direction::unchanged, kUnchangedFactor, fills_gpu}});
}

// ---- fma_ilp4: four chains of multiply-adds per thread
//
// Each thread has four independent chains, as many multiply-adds as issue in the latency of one.
// With one warp per scheduler issue_active_pct increases again. That warp, one of the 64 / 4 = 16
// that a scheduler holds, could fill the issue slots. They stay empty only while one block ends and
// the next one starts. fma_instructions is unchanged. The cost is a register per chain.

Variant fma_ilp4() {
  return fma<4>("fma_ilp4", "fma_ilp2", Warps::all,
                {{"issue_active_pct", Direction::increases, 1.5, has_four_warps},
                 {"fma_instructions", Direction::unchanged, kUnchangedFactor, fills_gpu}});
}

// ---- fma_half_warps
//
// fma_ilp2 with so much ballast that half as many blocks are resident: active_warps_per_sm halves,
// and issue_active_pct stays, since a scheduler has as many independent multiply-adds as before.

Variant fma_half_warps() {
  return fma<2>("fma_half_warps", "fma_ilp1", Warps::half,
                {{"active_warps_per_sm", Direction::decreases, 1.7, fills_gpu},
                 {"fma_instructions", Direction::unchanged, kUnchangedFactor, fills_gpu}});
}

// ---- what a thread holds: launch bounds

constexpr int kHeld = 80;        // values of a thread, of which each step uses all
constexpr int kHeldBlock = 256;  // threads, which launch bounds name
constexpr std::int64_t kHeldPerBlock = std::int64_t{kHeld} * kHeldBlock;

// Sums of a register tile are held like this: none of them can be put down before the last step.
// Where a block has not all elements, a thread takes its own one by one.
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
           ", which its launch bounds name, and shared_kib = 0";
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
// Where what a thread does before and behind its steps is little.
bool has_many_steps(const Problem& p) {
  constexpr int kMany = 16;
  return has_whole_blocks(p) && p.steps >= kMany;
}

// ---- held_natural: as many registers as it wants
//
// A thread holds 80 values, steps all of them on, and does so again: with an independent
// multiply-add for every clock it needs no other warp. Its registers leave room for two blocks of
// 256 threads per SM, and no time is lost by that: local_load_requests is 0, and nearly all
// instructions are multiply-adds.
// held: blocks_per_sm = 2; local_load_requests = 0

__global__ void __launch_bounds__(kHeldBlock)
    held_natural_kernel(const float* in, float* added, std::int64_t n, int steps, float one) {
  add_steps(in, added, n, steps, one);
}

Variant held_natural() {
  return held("held_natural", "", held_natural_kernel, {});
}

// ---- held_capped_64: four blocks per SM, at any price
//
// __launch_bounds__(256, 4) asks for four resident blocks, for which a thread has 65536 / (4 × 256)
// = 64 registers. active_warps_per_sm doubles. The values beyond them are spilled to local memory,
// whose words lie so that those of a warp's lanes are 128 bytes in a row, and each step loads and
// stores them. L1 has room for those of all resident warps. A spilled value's one instruction
// becomes three, two of them by the load-store unit, which takes one request per clock where four
// schedulers issue.
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
// The pragma enable_smem_spilling of nvcc 13 lets the compiler keep spilled values in shared memory
// that nothing else needs, as much of it as leaves four blocks resident. Those are loads and stores
// all the same, but look no tag up and take nothing of L1 from the others. local_load_requests
// falls, shared_load_wavefronts rises.

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

// ---- held_capped_32: eight blocks per SM
//
// 32 registers per thread, all of an SM's warps are resident, and most of what a thread holds is
// spilled. local_load_requests grows with what is spilled, and the spilled values of all resident
// warps are more than L1 has room for: local_load_hit_pct falls, and l2_sectors rises.
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
  if (p.block % kWarp != 0) return "needs a block of whole warps";
  const std::int64_t most = device.sm.shared_bytes_per_block / kKib;
  if (p.shared_kib > most)
    return "needs shared_kib <= " + std::to_string(most) + ", this device's most per block";
  return std::nullopt;
}

Family declare() {
  Family f("occupancy", Topic::execution, "How many warps does a kernel need?");
  f.physics =
      "What is in flight is rate times latency (Little's law), and who asks for it is of no "
      "matter: warps times what each has in flight. So a rate grows with occupancy up to where "
      "latency is covered, and is level from there on; a thread with twice the independent "
      "instructions gets there with half the warps. Threads, blocks, registers or shared memory, "
      "whichever an SM runs out of first, set how many warps are resident. A kernel that is given "
      "fewer registers than it needs keeps the rest in local memory, and pays each time it uses "
      "it.";
  constexpr int kMostSteps = 1 << 16;
  f.extent("n", &Problem::n, std::int64_t{1} << 26, std::int64_t{1} << 32, "fp32 elements")
      .integer("block", &Problem::block, 256, kWarp, kMostThreads, "threads",
               "threads per block, a multiple of 32")
      .integer("shared_kib", &Problem::shared_kib, 0, 0, 227, "KiB",
               "shared memory that a block takes and does not use")
      .integer("steps", &Problem::steps, 1024, 1, kMostSteps, "",
               "multiply-adds for each element; of no matter to copies");
  f.input("in", &Data::in, &Problem::n)
      .output("copy", &Data::copy, &Problem::n)
      .output("added", &Data::added, &Problem::n);
  f.metric(kBytesInFlightMetric, "B", "of the loads that a thread makes before it waits")
      .metric("bytes_in_flight_per_sm", "B", "of the threads that are resident on an SM together")
      .metric("independent_fmas_per_scheduler", "",
              "chains of the threads that are resident on an SM, by warps and scheduler");
  f.figure("occupancy", "rate_over_occupancy",
           "Occupancy: by warps, and by what a thread has in flight");
  f.unsupported = unsupported;
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    return fill(d.in, p.n, WholeStart{stream_seed(seed, 0)});
  };
  set_references(f, &Problem::n, [](const Problem& p, const Data& d, int o) {
    return Added{d.in, o == 0 ? 0 : p.steps};
  });
  f.tolerance_derivation =
      "Zero: a copy keeps every bit. A multiply-add with a factor and a summand of 1 adds 1 to a "
      "whole number; starts below 2^10 and up to 2^16 steps stay below 2^24, to which fp32 has all "
      "whole numbers.";
  static_assert(kWholeStarts + kMostSteps < kWholeEnd, "sums are exact");
  f.variants(copy_ilp1(), copy_ilp2(), copy_ilp4(), copy_half_warps(), copy_quarter_warps(),
             fma_ilp1(), fma_ilp2(), fma_ilp4(), fma_half_warps(), held_natural(), held_capped_64(),
             held_capped_64_shared(), held_capped_32());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::occupancy
