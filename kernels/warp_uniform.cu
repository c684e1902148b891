// warp_uniform: the same branch, taken by whole warps in every variant; what the compiler knows of
// that.
//
// The question: what does a branch cost that never parts a warp? Where a condition may differ by
// lane, the compiler has to have lanes meet again: BSSY names the place in front of the branch, and
// BSYNC waits there for those that went the other way. It cannot know what is in memory, so it does
// the same where all lanes of a warp agree. A condition that it can see to be one for the warp
// (from blockIdx, from a vote, from one lane) needs neither: the branch is a jump.
//
// The branch stands in a loop with short sides, where two instructions show. Each block of 256
// elements has a word of 32 bits, and bit k mod 32 says which side it takes in round k.
#include "kernels/common/family.cuh"
#include "kernels/common/whole_numbers.cuh"

namespace gpuexp::warp_uniform {

constexpr int kBlock = 256;

struct Problem {
  std::int64_t n;
  int rounds;
};

struct Data {
  float* x;              // n whole numbers
  std::uint32_t* sides;  // of each kBlock elements
  float* y;              // n
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- per_lane: a condition that each lane loads
//
// Each lane loads the word of its element. All lanes of a warp load the same one, which the
// compiler does not know: the machine code has BSSY before the branch and BSYNC behind it in each
// round, though no lane ever waits there. active_lanes_per_instruction is 32.
// held: active_lanes_per_instruction = 32

constexpr int kSide = 16;  // dependent multiply-adds of a side
constexpr int kStepA = 1;  // what each of them adds
constexpr int kStepB = 2;

// Sides that are too long for the compiler to run both and select, and so unlike that it cannot run
// one with selected operands: what is added up is a factor in one and the summand in the other.
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

// In all variants, lanes beyond the end do what the last element asks for and store nothing:
// shuffles and votes need them.
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

constexpr float kOne = 1.0f;  // which the compiler does not know

Work work(const Problem& p) {
  return reads<float>(p.n) + reads<std::uint32_t>(ceil_div(p.n, kBlock)) + writes<float>(p.n) +
         computes(Pipe::fp32, 2.0 * kSide * static_cast<double>(p.n) * p.rounds);
}

// Where the rounds are most of what a warp executes.
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
// A shuffle gives all lanes the word that lane 0 has loaded, once before the loop. What one lane
// says is one for the warp, as the compiler knows: BSSY and BSYNC are gone, and warp_instructions
// and branch_instructions fall. It costs a shuffle, and all lanes have to be there for it.

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

// ---- vote: any lane's condition
//
// __any_sync before each branch makes of the lanes' conditions one of the warp: no BSSY and BSYNC,
// but a VOTE per round in their place. It is what to do where a condition is computed anew each
// time, and right only where lanes agree, or where taking the side for all of them is.

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

// ---- by_block: the word of blockIdx
//
// The word is loaded from an address made of blockIdx alone, which is one for the block: the same
// branch as that of broadcast, without a shuffle. Work whose kind goes by blocks gets this for
// nothing.

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
  Family f("warp_uniform", Topic::execution, "What does a branch cost that never parts a warp?");
  f.physics =
      "A branch whose condition may differ by lane takes two instructions more than one whose "
      "condition is the warp's: BSSY in front, BSYNC behind. The compiler decides which it is by "
      "where the condition comes from, not by what is in memory. Where warps do agree, what it is "
      "told saves these two.";
  constexpr int kMaxRounds = 1 << 14;
  f.extent("n", &Problem::n, 1 << 22, 1 << 30, "elements of x and y")
      .integer("rounds", &Problem::rounds, 64, 1, kMaxRounds, "",
               "branches of each element, one after the other");
  f.input("x", &Data::x, &Problem::n)
      .input("sides", &Data::sides, [](const Problem& p) { return ceil_div(p.n, kBlock); })
      .output("y", &Data::y, &Problem::n);
  f.figure("warp_uniform", "relative_times", "A branch that never parts a warp",
           {{"param.rounds", "branches of an element"}});
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    Steps steps = fill(d.x, p.n, WholeStart{stream_seed(seed, 0)});
    steps += fill_bits(d.sides, ceil_div(p.n, kBlock), stream_seed(seed, 1));
    return steps;
  };
  set_references(f, &Problem::n, [](const Problem& p, const Data& d, int) {
    return AfterRounds{p.rounds, d.x, d.sides};
  });
  f.tolerance_derivation =
      "Zero: multiply-adds with a factor of 1 add 1 or 2 to a whole number. Starts below 2^10 and "
      "up to 2^14 rounds of 16 steps stay below 2^24, to which fp32 has all whole numbers.";
  static_assert(kWholeStarts + kMaxRounds * kSide * kStepB < kWholeEnd, "sums are exact");
  f.variants(per_lane(), broadcast(), vote(), by_block());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::warp_uniform
