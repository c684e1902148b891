// lane_handover: y = stage B of stage A of x, where one half of a warp's lanes does A and the other
// half B; how a value gets from one lane to another.
//
// The question: can lanes of one warp wait for each other, and is it worth it? Since Volta each
// lane has a program counter of its own (independent thread scheduling): of lanes that parted at a
// branch, now these are issued and now those, and one may spin until another one has written.
// Before, the side that a warp took up first ran to its end, and a lane that spun for a lane of its
// own warp did so for ever. But the two sides are never issued together: lanes with different jobs
// gain nothing that the warp's other lanes do not lose.
//
// Both stages are `cost` times 8 dependent multiply-adds, the same for all variants.
#include "kernels/common/family.cuh"
#include "kernels/common/whole_numbers.cuh"

namespace gpuexp::lane_handover {

constexpr int kHalf = kWarp / 2;

struct Problem {
  std::int64_t n;
  int cost;
};

struct Data {
  float* x;  // n whole numbers
  float* y;  // n
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- own: each lane does both stages
//
// No lane needs another one, all 32 are on, and nothing is handed over: fewer instructions than any
// way in which lanes share it out.

constexpr int kBlock = 256;
constexpr int kPerWarp = 256;  // elements
constexpr int kStep = 8;       // multiply-adds
constexpr int kStageA = 1;     // what a multiply-add of a stage adds
constexpr int kStageB = 2;

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

constexpr float kOne = 1.0f;  // which the compiler does not know

Work work(const Problem& p) {
  return streaming_work<float>(p.n, p.n,
                               {{Pipe::fp32, 2.0 * 2 * kStep * static_cast<double>(p.n) * p.cost}});
}

// Where the stages are most of what a warp executes, and its halves have as much to do.
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

// ---- shuffle: lanes that meet
//
// Lanes 0 to 15 do stage A of 16 elements, a shuffle hands the values to lanes 16 to 31, and these
// do stage B. All lanes meet at the shuffle, an instruction per 16 elements. While 16 lanes work
// the others are off: active_lanes_per_instruction falls to nearly half, and warp_instructions
// nearly doubles.

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

// ---- mailbox: lanes that wait for each other
//
// Each of lanes 0 to 15 puts its value into a word of shared memory once that is empty, and one of
// lanes 16 to 31 takes it out once it is full; both spin until then. The value itself is the flag,
// and both ends touch it by atomic operations alone, so that nothing has to be ordered beside it.
// It works because the hardware lets both sides go on, and costs what spinning takes:
// shared_atomic_wavefronts and warp_instructions that a shuffle has none of.

constexpr unsigned kEmpty = ~0u;  // a NaN, which no value is

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
           "Can lanes of one warp wait for each other, and is it worth it?");
  f.physics =
      "Lanes of a warp that do different things are issued one after the other: each half of a "
      "warp is off while the other half works, so that sharing out the stages doubles the "
      "instructions. Handing a value over costs one instruction where all lanes meet (a shuffle), "
      "and as many rounds of spinning as it takes where they wait for each other.";
  constexpr int kMostCost = 1 << 16;
  f.extent("n", &Problem::n, 1 << 22, 1 << 30, "elements of x and y")
      .integer("cost", &Problem::cost, 16, 1, kMostCost, "",
               "times that each stage makes 8 dependent multiply-adds");
  f.input("x", &Data::x, &Problem::n).output("y", &Data::y, &Problem::n);
  f.figure("lane_handover", "relative_times", "Lanes that hand over to each other",
           {{"param.cost", "cost of a stage (8 dependent FMAs each)"}});
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    return fill(d.x, p.n, WholeStart{stream_seed(seed, 0)});
  };
  set_references(f, &Problem::n, [](const Problem& p, const Data& d, int) {
    return AfterStages{p.cost, d.x};
  });
  f.tolerance_derivation =
      "Zero: multiply-adds with a factor of 1 add 1 and 2 to whole numbers. Starts below 2^10 and "
      "up to 2^16 times 8 of either stay below 2^24, to which fp32 has all whole numbers.";
  static_assert(kWholeStarts + kMostCost * kStep * (kStageA + kStageB) < kWholeEnd,
                "sums are exact");
  f.variants(own(), shuffle(), mailbox());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::lane_handover
