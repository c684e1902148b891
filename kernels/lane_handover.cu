// lane_handover: y = stage B of stage A of x, where one half of a warp's lanes executes A and the
// other half B; methods to pass a value from one lane to another.
//
// The question: can lanes of one warp wait for each other, and is it worthwhile? Since Volta each
// lane has its own program counter (independent thread scheduling). After a divergent branch the
// scheduler alternates between the two groups of lanes, so one lane may spin until another one has
// written. Before Volta, the first scheduled side ran to its end, and a lane that waited for a lane
// of its own warp never stopped.
#include "kernels/common/family.cuh"
#include "kernels/common/whole_numbers.cuh"

namespace gpuexp::lane_handover {

constexpr int kHalf = kWarp / 2;

struct Problem {
  std::int64_t n;
  int cost;
};

struct Data {
  float* x;  // n integers
  float* y;  // n
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- own: both stages in each lane
//
// No lane needs another one, all 32 are active, and no value is passed. Any division of the stages
// among lanes takes more instructions.

constexpr int kBlock = 256;
constexpr int kPerWarp = 256;  // elements per warp
constexpr int kStep = 8;       // multiply-adds per step
constexpr int kStageA = 1;     // amount that a multiply-add of stage A adds
constexpr int kStageB = 2;     // amount that a multiply-add of stage B adds

__device__ __forceinline__ float stage(float v, int cost, float one, float each) {
#pragma unroll 1
  for (int i = 0; i < cost; ++i)
    v = add_in_steps<kStep>(v, one, each);
  return v;
}

__device__ inline std::int64_t first_of_warp() {
  return (static_cast<std::int64_t>(blockIdx.x) * (kBlock / kWarp) + threadIdx.x / kWarp) *
         kPerWarp;
}

__global__ void __launch_bounds__(kBlock)
    own_kernel(std::int64_t n, int cost, float one, const float* x, float* y) {
  const std::int64_t first = first_of_warp() + threadIdx.x % kWarp;
#pragma unroll 1
  for (int k = 0; k < kPerWarp; k += kWarp) {
    const std::int64_t i = first + k;
    if (i < n) y[i] = stage(stage(x[i], cost, one, one), cost, one, kStageB * one);
  }
}

// ---- how the variants are launched

constexpr float kOne = 1.0f;  // as a value unknown to the compiler

Work work(const Problem& p) {
  return streaming_work<float>(p.n, p.n,
                               {{Pipe::fp32, 2.0 * 2 * kStep * static_cast<double>(p.n) * p.cost}});
}

// Problems whose stages are most of the executed instructions, with equal work for both halves.
bool is_long(const Problem& p) {
  constexpr int kLong = 8;
  return p.n >= kPerWarp && p.cost >= kLong;
}

Variant of_kernel(std::string id, std::string compare_to,
                  void (*kernel)(std::int64_t, int, float, const float*, float*),
                  ExpectedChangesOf<Problem> expected) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.writes = {"y"};
  v.work = work;
  v.launch = [kernel](const Problem& p, const Data& d, const LaunchContext&) {
    constexpr int kPerBlock = kBlock / kWarp * kPerWarp;
    const Shape s = shape_of_tiles(p.n, kPerBlock, kBlock);
    return launch(kernel, s, p.n, p.cost, kOne, d.x, d.y);
  };
  return v;
}

Variant own() {
  return of_kernel("own", "", own_kernel, {});
}

// ---- shuffle: values passed by a warp shuffle
//
// Lanes 0 to 15 execute stage A of 16 elements, a shuffle passes the values to lanes 16 to 31, and
// these execute stage B. All lanes reconverge at the shuffle, one instruction per 16 elements.
// While 16 lanes work, the others are inactive: active_lanes_per_instruction decreases to nearly
// half, and warp_instructions nearly doubles.

__global__ void __launch_bounds__(kBlock)
    shuffle_kernel(std::int64_t n, int cost, float one, const float* x, float* y) {
  const int lane = threadIdx.x % kWarp;
  const std::int64_t first = first_of_warp() + lane % kHalf;
#pragma unroll 1
  for (int k = 0; k < kPerWarp; k += kHalf) {
    const std::int64_t i = first + k;
    float v = 0.0f;
    if (lane < kHalf && i < n) v = stage(x[i], cost, one, one);
    v = __shfl_sync(kAllLanes, v, lane % kHalf);
    if (lane >= kHalf && i < n) y[i] = stage(v, cost, one, kStageB * one);
  }
}

Variant shuffle() {
  return of_kernel("shuffle", "own", shuffle_kernel,
                   {{"active_lanes_per_instruction", Direction::decreases, 1.6, is_long},
                    {"warp_instructions", Direction::increases, 1.6, is_long}});
}

// ---- mailbox: values passed through shared memory
//
// Each of lanes 0 to 15 stores its value in a word of shared memory once this word is empty, and
// one of lanes 16 to 31 loads it once the word is full. Both lanes spin until then. The value
// itself is the flag, and both sides access it only with atomic operations, so no other access must
// be ordered. The cost is spinning: shared_atomic_wavefronts and warp_instructions increase
// compared with shuffle.

constexpr unsigned kEmpty = ~0u;  // bits of a NaN, which no value has

__device__ __forceinline__ void put(unsigned* mailbox, float v) {
  while (atomicCAS(mailbox, kEmpty, __float_as_uint(v)) != kEmpty)
    continue;
}

__device__ __forceinline__ float take(unsigned* mailbox) {
  unsigned taken;
  do {
    taken = atomicExch(mailbox, kEmpty);
  } while (taken == kEmpty);
  return __uint_as_float(taken);
}

__global__ void __launch_bounds__(kBlock)
    mailbox_kernel(std::int64_t n, int cost, float one, const float* x, float* y) {
  __shared__ unsigned mailboxes[kBlock / 2];
  if (threadIdx.x < kBlock / 2) mailboxes[threadIdx.x] = kEmpty;
  __syncthreads();
  const int lane = threadIdx.x % kWarp;
  unsigned* const mailbox = mailboxes + threadIdx.x / kWarp * kHalf + lane % kHalf;
  const std::int64_t first = first_of_warp() + lane % kHalf;
  if (lane < kHalf) {
#pragma unroll 1
    for (int k = 0; k < kPerWarp; k += kHalf) {
      if (first + k < n) put(mailbox, stage(x[first + k], cost, one, one));
    }
  } else {
#pragma unroll 1
    for (int k = 0; k < kPerWarp; k += kHalf) {
      if (first + k < n) y[first + k] = stage(take(mailbox), cost, one, kStageB * one);
    }
  }
}

Variant mailbox() {
  return of_kernel("mailbox", "shuffle", mailbox_kernel,
                   {{"shared_atomic_wavefronts", Direction::increases, 2,
                     [](const Problem& p) { return p.n >= kPerWarp; }}});
}

// ---- the plain reference

struct AfterStages {
  int cost;
  const float* x;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    return {static_cast<double>(x[i]) + static_cast<double>(cost) * kStep * (kStageA + kStageB),
            0.0};
  }
};

// ---- declaration

Family declare() {
  Family f("lane_handover", Topic::execution,
           "Can lanes of one warp wait for each other, and is it worthwhile?");
  f.physics =
      "A warp issues the instructions of lanes with different tasks one after the other. Each half "
      "of a warp is inactive while the other half works, so dividing the stages among the lanes "
      "doubles the instructions. Passing a value costs one instruction if all lanes reconverge (a "
      "shuffle), and several rounds of spinning if lanes wait for each other.";
  constexpr int kMaxCost = 1 << 16;
  f.extent("n", &Problem::n, 1 << 22, 1 << 30, "elements of x and y")
      .integer("cost", &Problem::cost, 16, 1, kMaxCost, "",
               "repetitions of 8 dependent multiply-adds per stage");
  f.input("x", &Data::x, &Problem::n).output("y", &Data::y, &Problem::n);
  f.plot("lane_handover", "relative_times", "Values passed between lanes of a warp: relative time",
         {{"param.cost", "cost of a stage (8 dependent FMAs each)"}});
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    return fill(d.x, p.n, WholeStart{stream_seed(seed, 0)});
  };
  set_references(f, &Problem::n, [](const Problem& p, const Data& d, int) {
    return AfterStages{p.cost, d.x};
  });
  f.tolerance_derivation =
      "Zero: multiply-adds with a factor of 1 add 1 and 2 to integers. Starts below 2^10 and up to "
      "2^16 times 8 of each stay below 2^24, and fp32 represents all integers up to 2^24.";
  static_assert(kIntegerRange + kMaxCost * kStep * (kStageA + kStageB) < kMaxExactInteger,
                "sums are exact");
  f.variants(own(), shuffle(), mailbox());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::lane_handover
