// warp_uniform: the same warp-uniform branch in every variant; variants differ in what the compiler
// can prove about it.
//
// The question: what does a branch cost if all lanes of each warp take the same side? If a
// condition may differ by lane, the compiler makes the lanes reconverge: BSSY before the branch
// records the reconvergence point, and BSYNC waits there for lanes on the other side. A condition
// that is provably uniform in the warp (from blockIdx, a vote or one lane) needs neither: the
// branch is a jump.
//
// The branch is in a loop with short sides, so that two instructions are measurable. Each block of
// 256 elements has a word of 32 bits, and bit k mod 32 selects the side in round k.
#include "kernels/common/family.cuh"
#include "kernels/common/whole_numbers.cuh"

namespace gpuexp::warp_uniform {

constexpr int kBlock = 256;

struct Problem {
  std::int64_t n;
  int rounds;
};

struct Data {
  float* x;              // n integers
  std::uint32_t* sides;  // one word per kBlock elements
  float* y;              // n
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- per_lane: a condition that each lane loads
//
// Each lane loads the word of its element. All lanes of a warp load the same word, but the compiler
// cannot know this. The machine code therefore has BSSY before the branch and BSYNC after it,
// although no lane ever waits there. active_lanes_per_instruction is 32.
// held: active_lanes_per_instruction = 32

constexpr int kSide = 16;  // dependent multiply-adds per side
constexpr int kStepA = 1;  // amount that each of them adds on side A
constexpr int kStepB = 2;  // amount that each of them adds on side B

// The sides are too long for the compiler to execute both and select. Their operands differ, so it
// cannot execute one with selected operands: the added value is an addend on one side and a factor
// on the other.
__device__ __forceinline__ float one_side(bool takes_a, float v, float one) {
  if (takes_a) {
    v = add_in_steps<kSide>(v, one, kStepA * one);
  } else {
    const float each = kStepB * one;
#pragma unroll
    for (int i = 0; i < kSide; ++i)
      v = fmaf(one, each, v);
  }
  return v;
}

// In all variants, lanes past the end process the last element and store nothing, because shuffles
// and votes need all lanes.
__global__ void __launch_bounds__(kBlock)
    per_lane_kernel(std::int64_t n, int rounds, float one, const float* x,
                    const std::uint32_t* sides, float* y) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::int64_t at = min(i, n - 1);
  const std::uint32_t word = sides[at / kBlock];
  float v = x[at];
#pragma unroll 1
  for (int round = 0; round < rounds; ++round)
    v = one_side(word >> round % kWarp & 1, v, one);
  if (i < n) y[i] = v;
}

// ---- how the variants are launched

constexpr float kOne = 1.0f;  // as a value unknown to the compiler

Work work(const Problem& p) {
  return reads<float>(p.n) + reads<std::uint32_t>(ceil_div(p.n, kBlock)) + writes<float>(p.n) +
         computes(Pipe::fp32, 2.0 * kSide * static_cast<double>(p.n) * p.rounds);
}

// Problems whose rounds are most of the executed instructions.
bool is_long(const Problem& p) {
  constexpr int kLong = 64;
  return p.n >= kBlock && p.rounds >= kLong;
}

using Kernel = void (*)(std::int64_t, int, float, const float*, const std::uint32_t*, float*);

Variant of_kernel(std::string id, std::string compare_to, Kernel kernel,
                  ExpectedChangesOf<Problem> expected) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.writes = {"y"};
  v.work = work;
  v.launch = [kernel](const Problem& p, const Data& d, const LaunchContext&) {
    const Shape s = shape_of_tiles(p.n, kBlock, kBlock);
    return launch(kernel, s, p.n, p.rounds, kOne, d.x, d.sides, d.y);
  };
  return v;
}

Variant per_lane() {
  return of_kernel("per_lane", "", per_lane_kernel, {});
}

// ---- broadcast: the word of lane 0
//
// A shuffle before the loop gives all lanes the word that lane 0 loaded. The compiler knows that a
// value from one lane is uniform in the warp and emits no BSSY and BSYNC: warp_instructions and
// branch_instructions decrease. The cost is one shuffle, in which all lanes must take part.

__global__ void __launch_bounds__(kBlock)
    broadcast_kernel(std::int64_t n, int rounds, float one, const float* x,
                     const std::uint32_t* sides, float* y) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::int64_t at = min(i, n - 1);
  const std::uint32_t word = __shfl_sync(kAllLanes, sides[at / kBlock], 0);
  float v = x[at];
#pragma unroll 1
  for (int round = 0; round < rounds; ++round)
    v = one_side(word >> round % kWarp & 1, v, one);
  if (i < n) y[i] = v;
}

Variant broadcast() {
  return of_kernel(
      "broadcast", "per_lane", broadcast_kernel,
      {{"branch_instructions", Direction::decreases, 1.2, is_long},
       {"warp_instructions", Direction::decreases, 1.03, is_long},
       {"active_lanes_per_instruction", Direction::unchanged, kUnchangedFactor, is_long}});
}

// ---- vote: a condition by warp vote
//
// __any_sync before each branch combines the conditions of all lanes into one for the warp. The
// compiler emits no BSSY and BSYNC, but one VOTE per round instead: warp_instructions increases
// compared with broadcast. A vote is necessary if every round computes the condition. It is correct
// only if all lanes agree, or if all lanes may take the side when one of them does.

__global__ void __launch_bounds__(kBlock)
    vote_kernel(std::int64_t n, int rounds, float one, const float* x, const std::uint32_t* sides,
                float* y) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::int64_t at = min(i, n - 1);
  const std::uint32_t word = sides[at / kBlock];
  float v = x[at];
#pragma unroll 1
  for (int round = 0; round < rounds; ++round)
    v = one_side(__any_sync(kAllLanes, word >> round % kWarp & 1), v, one);
  if (i < n) y[i] = v;
}

Variant vote() {
  return of_kernel(
      "vote", "broadcast", vote_kernel,
      {{"warp_instructions", Direction::increases, 1.01, is_long},
       {"active_lanes_per_instruction", Direction::unchanged, kUnchangedFactor, is_long}});
}

// ---- by_block: a word selected by blockIdx
//
// The address of the word depends only on blockIdx, so the word is uniform in the block. The
// compiler emits the same branch as in broadcast, without a shuffle: warp_instructions and
// branch_instructions decrease.

__global__ void __launch_bounds__(kBlock)
    by_block_kernel(std::int64_t n, int rounds, float one, const float* x,
                    const std::uint32_t* sides, float* y) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::int64_t at = min(i, n - 1);
  const std::uint32_t word = sides[blockIdx.x];
  float v = x[at];
#pragma unroll 1
  for (int round = 0; round < rounds; ++round)
    v = one_side(word >> round % kWarp & 1, v, one);
  if (i < n) y[i] = v;
}

Variant by_block() {
  return of_kernel(
      "by_block", "per_lane", by_block_kernel,
      {{"branch_instructions", Direction::decreases, 1.2, is_long},
       {"warp_instructions", Direction::decreases, 1.03, is_long},
       {"active_lanes_per_instruction", Direction::unchanged, kUnchangedFactor, is_long}});
}

// ---- inputs and the plain reference

struct AfterRounds {
  int rounds;
  const float* x;
  const std::uint32_t* sides;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    const std::uint32_t word = sides[i / kBlock];
    int added = 0;
    for (int bit = 0; bit < kWarp; ++bit) {
      const int times = rounds / kWarp + (bit < rounds % kWarp ? 1 : 0);
      added += times * kSide * (word >> bit & 1 ? kStepA : kStepB);
    }
    return {static_cast<double>(x[i]) + added, 0.0};
  }
};

// ---- declaration

Family declare() {
  Family f("warp_uniform", Topic::execution,
           "What does a branch cost if all lanes of each warp take the same side?");
  f.physics =
      "A branch whose condition may differ by lane needs two more instructions than a branch whose "
      "condition is uniform in the warp: BSSY before it and BSYNC after it. The compiler decides "
      "by the source of the condition, not by the contents of memory. If the lanes of each warp "
      "agree, a condition that is provably uniform saves these two instructions.";
  constexpr int kMaxRounds = 1 << 14;
  f.extent("n", &Problem::n, 1 << 22, 1 << 30, "elements of x and y")
      .integer("rounds", &Problem::rounds, 64, 1, kMaxRounds, "",
               "consecutive branches per element");
  f.input("x", &Data::x, &Problem::n)
      .input("sides", &Data::sides, [](const Problem& p) { return ceil_div(p.n, kBlock); })
      .output("y", &Data::y, &Problem::n);
  f.plot("warp_uniform", "relative_times", "Warp-uniform branches: relative time",
         {{"param.rounds", "branches per element"}});
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    Steps steps = fill(d.x, p.n, WholeStart{stream_seed(seed, 0)});
    steps += fill_bits(d.sides, ceil_div(p.n, kBlock), stream_seed(seed, 1));
    return steps;
  };
  set_references(f, &Problem::n, [](const Problem& p, const Data& d, int) {
    return AfterRounds{p.rounds, d.x, d.sides};
  });
  f.tolerance_derivation =
      "Zero: multiply-adds with a factor of 1 add 1 or 2 to an integer. Starts below 2^10 and up "
      "to 2^14 rounds of 16 steps stay below 2^24, and fp32 represents all integers up to 2^24.";
  static_assert(kIntegerRange + kMaxRounds * kSide * kStepB < kMaxExactInteger, "sums are exact");
  f.variants(per_lane(), broadcast(), vote(), by_block());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::warp_uniform
