// divergence: y = function A or function B of x, chosen for each element.
//
// The question: what does a branch cost if the lanes of a warp disagree about it? All layouts run
// the same kernel on the same number of elements per side and differ only in how elements are
// assigned to lanes. Each side executes `cost` dependent FMAs.
// element needs one side.
#include <algorithm>
#include <cmath>

#include "kernels/common/family.cuh"
#include "kernels/common/fma_way.cuh"
#include "kernels/common/permutation.cuh"

namespace gpuexp::divergence {

// As 5 bits, 00101 and 01010: A and B differ in the sign of four of eight FMAs.
constexpr unsigned kWayA = 5;
constexpr unsigned kWayB = 10;

struct Problem {
  std::int64_t n;
  double fraction;
  int cost;

  /// Number of lanes per warp, or of warps per group of 32, that take A.
  __host__ __device__ int a_of_32() const { return static_cast<int>(fraction * kWarp + 0.5); }
  /// Number of the n elements that take A.
  __host__ __device__ std::int64_t a_of_n() const {
    return static_cast<std::int64_t>(fraction * static_cast<double>(n) + 0.5);
  }
  std::int64_t warps() const { return ceil_div(n, kWarp); }
};

// Bit l of word w of the sides is set if element 32·w + l takes A. With 1/32 of the bytes of x, the
// sides do not affect the time.
struct Data {
  float* x;           ///< n elements
  float* x_shuffled;  ///< n elements: x in random order
  std::uint32_t* sides_uniform;
  std::uint32_t* sides_in_warp;
  std::uint32_t* sides_by_warp;
  std::uint32_t* sides_random;
  std::uint32_t* sides_sorted;
  float* y_uniform;
  float* y_in_warp;
  float* y_by_warp;
  float* y_random;
  float* y_sorted;
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- the branch, in five layouts

constexpr int kBlock = 256;

__global__ void __launch_bounds__(kBlock)
    branch_kernel(std::int64_t n, int cost, const float* x, const std::uint32_t* sides, float* y) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i >= n) return;
  const bool takes_a = sides[i / kWarp] >> threadIdx.x % kWarp & 1;
  const float from = x[i];
  float to;
  if (takes_a) {
    to = fma_way::run<kWayA>(from, cost);
  } else {
    to = fma_way::run<kWayB>(from, cost);
  }
  y[i] = to;
}

// Useful work is one side per element, even if a variant computes both.
Work work(const Problem& p) {
  const double n = static_cast<double>(p.n);
  const double words = static_cast<double>(p.warps());
  return moves_bytes(n * sizeof(float) + words * sizeof(std::uint32_t), n * sizeof(float)) +
         computes(Pipe::fp32, fma_way::operations(p.cost) * n);
}

/// `passes` is the number of sides that a warp issues, `active_lanes` the share of active lanes
/// during a side; both are averages over the warps.
MetricValues metrics(double passes, double active_lanes) {
  return {{"expected_passes", passes}, {"expected_active_lanes_pct", 100.0 * active_lanes}};
}

// Each lane is active in only one pass.
MetricValues branch_metrics(double passes) {
  return metrics(passes, 1.0 / passes);
}

Variant branch(std::string id, float* Data::*x, std::uint32_t* Data::*sides, float* Data::*y,
               const char* output, double (*expected_passes)(const Problem&)) {
  Variant v(std::move(id));
  v.writes = {output};
  v.work = work;
  v.metrics = [expected_passes](const Problem& p, const DeviceSpec&) {
    return branch_metrics(expected_passes(p));
  };
  v.launch = [x, sides, y](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(branch_kernel, shape_of_tiles(p.n, kBlock, kBlock), p.n, p.cost, d.*x, d.*sides,
                  d.*y);
  };
  return v;
}

double one_pass(const Problem&) {
  return 1.0;
}

// ---- uniform: all elements on side A
//
// Every element takes side A, regardless of fraction, so no warp issues both sides. The other
// variants are compared with uniform: it loads and tests the same condition, and executes the same
// number of FMAs per element. A chain of dependent FMAs issues every 4th cycle. At full occupancy
// the 16 warps of a scheduler hide this latency, so issue slots are the limit.

Variant uniform() {
  Variant v =
      branch("uniform", &Data::x, &Data::sides_uniform, &Data::y_uniform, "y_uniform", one_pass);
  return v;
}

// Counts a partial last warp like the other warps.
double in_warp_passes(const Problem& p) {
  return p.a_of_32() % kWarp == 0 ? 1.0 : 2.0;
}

// True if every warp issues both sides, and the sides take more time than the constant cost per
// element.
bool splits_warps(const Problem& p) {
  constexpr int kLongEnough = 16;
  return p.n >= kBlock && p.cost >= kLongEnough && p.a_of_32() % kWarp != 0;
}

// ---- split_in_warp: both sides in every warp
//
// The first lanes of every warp take A and the other lanes take B. The share of A is fraction,
// rounded to 1/32. Each warp issues both sides: warp_instructions nearly doubles at any fraction
// other than 0 and 1, whether one lane takes a side or 16 lanes do. active_lanes_per_instruction
// decreases from 32 to 16. The FMA pipe is as busy as in uniform, because an instruction occupies
// it regardless of its number of active lanes.
// held: warp_instructions = 2 × uniform within 6 %
// held: warp_instructions = 2 × uniform within 6 % at fraction=0.03125
// held: active_lanes_per_instruction = 16 within 6 %

Variant split_in_warp() {
  return branch("split_in_warp", &Data::x, &Data::sides_in_warp, &Data::y_in_warp, "y_in_warp",
                in_warp_passes)
      .against("uniform",
               {{"active_lanes_per_instruction", Direction::decreases, 1.2, splits_warps},
                {"warp_instructions", Direction::increases, 1.2, splits_warps}});
}

// ---- split_by_warp: one side per warp
//
// Each side has as many elements as in split_in_warp, but all lanes of a warp take the same side:
// in each group of 32 warps, the first warps take A. Each warp issues one side and jumps over the
// other: warp_instructions decreases, and the time equals the time of uniform. The cost is that the
// data must be arranged by warps.

Variant split_by_warp() {
  return branch("split_by_warp", &Data::x, &Data::sides_by_warp, &Data::y_by_warp, "y_by_warp",
                one_pass)
      .against("split_in_warp",
               {{"active_lanes_per_instruction", Direction::increases, 1.2, splits_warps},
                {"warp_instructions", Direction::decreases, 1.2, splits_warps}});
}

/// Probability that all of `drawn` elements, drawn from n without replacement, belong to the
/// `count` elements of one side.
double all_of(std::int64_t count, std::int64_t n, std::int64_t drawn) {
  double probability = 1.0;
  for (std::int64_t k = 0; k < drawn; ++k) {
    probability *=
        static_cast<double>(std::max<std::int64_t>(count - k, 0)) / static_cast<double>(n - k);
  }
  return probability;
}

double random_passes(const Problem& p) {
  const std::int64_t lanes = std::min<std::int64_t>(p.n, kWarp);
  return 2.0 - all_of(p.a_of_n(), p.n, lanes) - all_of(p.n - p.a_of_n(), p.n, lanes);
}

// True if enough warps contain both sides for their second passes to be measurable.
bool mixes_warps(const Problem& p) {
  constexpr int kLongEnough = 64;
  constexpr double kManyPasses = 1.25;
  return p.n >= 32 * kBlock && p.cost >= kLongEnough && random_passes(p) >= kManyPasses;
}

// ---- random: both sides in random order
//
// The sides are in random order, as in unsorted data. A warp avoids the second pass only if all 32
// elements agree, which has the probability f^32 + (1-f)^32: at f = 1 % that is 72 % of warps, at 5
// % 19 %, at 14 % under 1 %. A rarely taken side can therefore cost almost as much as a frequent
// one.

Variant random() {
  return branch("random", &Data::x_shuffled, &Data::sides_random, &Data::y_random, "y_random",
                random_passes)
      .against("uniform", {{"active_lanes_per_instruction", Direction::decreases, 1.1, mixes_warps},
                           {"warp_instructions", Direction::increases, 1.1, mixes_warps}});
}

// At most one warp contains both sides.
double sorted_passes(const Problem& p) {
  const bool is_mixed = p.a_of_n() % kWarp != 0 && p.a_of_n() != p.n;
  return 1.0 + (is_mixed ? 1.0 / static_cast<double>(p.warps()) : 0.0);
}

// ---- sorted: elements sorted by side
//
// The elements of random, with their sides, are sorted by side before the launch. At most one warp
// contains both sides, so warp_instructions decreases and the time equals the time of uniform. The
// sort itself is not timed. Sorting is worthwhile if it costs less time than the second passes that
// it avoids.

Variant sorted() {
  Variant v =
      branch("sorted", &Data::x, &Data::sides_sorted, &Data::y_sorted, "y_sorted", sorted_passes);
  v.compare_to = "random";
  v.expected_changes = {{"active_lanes_per_instruction", Direction::increases, 1.1, mixes_warps},
                        {"warp_instructions", Direction::decreases, 1.1, mixes_warps}};
  return v;
}

// ---- select: both sides in every lane
//
// Every lane computes both sides and keeps one result, so the kernel has no divergent branch. All
// 32 lanes are active, so active_lanes_per_instruction is 32, which includes the computation of
// discarded results. warp_instructions is as high as in split_in_warp, even if all lanes of a warp
// agree. Compilers emit this code for sides of a few instructions, because it avoids the branch.
// held: active_lanes_per_instruction = 32

__global__ void __launch_bounds__(kBlock)
    select_kernel(std::int64_t n, int cost, const float* x, const std::uint32_t* sides, float* y) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i >= n) return;
  const bool takes_a = sides[i / kWarp] >> threadIdx.x % kWarp & 1;
  const float from = x[i];
  const float a = fma_way::run<kWayA>(from, cost);
  const float b = fma_way::run<kWayB>(from, cost);
  y[i] = takes_a ? a : b;
}

Variant select() {
  Variant v("select", "split_in_warp",
            {{"active_lanes_per_instruction", Direction::increases, 1.2, splits_warps},
             {"warp_instructions", Direction::unchanged, 1.1, splits_warps},
             {"warp_instructions", Direction::increases, 1.2,
              [](const Problem& p) { return p.cost >= 64 && p.a_of_32() % kWarp == 0; }}});
  v.writes = {"y_in_warp"};
  v.work = work;
  v.metrics = [](const Problem&, const DeviceSpec&) { return metrics(2.0, 1.0); };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(select_kernel, shape_of_tiles(p.n, kBlock, kBlock), p.n, p.cost, d.x,
                  d.sides_in_warp, d.y_in_warp);
  };
  return v;
}

// ---- inputs

struct UniformSides {
  __host__ __device__ bool operator()(std::int64_t) const { return true; }
};
struct InWarpSides {
  Problem p;
  __host__ __device__ bool operator()(std::int64_t i) const { return i % kWarp < p.a_of_32(); }
};
struct ByWarpSides {
  Problem p;
  __host__ __device__ bool operator()(std::int64_t i) const {
    return i / kWarp % kWarp < p.a_of_32();
  }
};
struct SortedSides {
  Problem p;
  __host__ __device__ bool operator()(std::int64_t i) const { return i < p.a_of_n(); }
};

// Element i of the random order is element order(i) of the sorted order.
struct RandomSides {
  SortedSides sorted;
  Permutation order;
  __host__ __device__ bool operator()(std::int64_t i) const { return sorted(order(i)); }
};
struct Shuffled {
  Uniform<float> x;
  Permutation order;
  __host__ __device__ float operator()(std::int64_t i) const { return x(order(i)); }
};

template <class TakesA>
struct SideWord {
  std::int64_t n;
  TakesA takes_a;
  __host__ __device__ std::uint32_t operator()(std::int64_t warp) const {
    std::uint32_t word = 0;
    for (int lane = 0; lane < kWarp; ++lane) {
      const std::int64_t i = warp * kWarp + lane;
      if (i < n && takes_a(i)) word |= 1u << lane;
    }
    return word;
  }
};

template <class TakesA>
Steps fill_sides(std::uint32_t* sides, const Problem& p, TakesA takes_a) {
  return fill(sides, p.warps(), SideWord<TakesA>{p.n, takes_a});
}

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  Steps steps;
  const Permutation order(stream_seed(seed, 1), p.n);
  steps += fill_uniform(d.x, p.n, stream_seed(seed, 0));
  steps += fill(d.x_shuffled, p.n, Shuffled{{stream_seed(seed, 0)}, order});
  steps += fill_sides(d.sides_uniform, p, UniformSides{});
  steps += fill_sides(d.sides_in_warp, p, InWarpSides{p});
  steps += fill_sides(d.sides_by_warp, p, ByWarpSides{p});
  steps += fill_sides(d.sides_random, p, RandomSides{{p}, order});
  steps += fill_sides(d.sides_sorted, p, SortedSides{p});
  return steps;
}

// ---- the plain reference

struct Reference {
  int cost;
  const float* x;
  const std::uint32_t* sides;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    const bool takes_a = sides[i / kWarp] >> i % kWarp & 1;
    return fma_way::exact(takes_a ? kWayA : kWayB, x[i], cost);
  }
};

std::vector<Reference> references(const Problem& p, const Data& d) {
  return {{p.cost, d.x, d.sides_uniform},
          {p.cost, d.x, d.sides_in_warp},
          {p.cost, d.x, d.sides_by_warp},
          {p.cost, d.x_shuffled, d.sides_random},
          {p.cost, d.x, d.sides_sorted}};
}

// ---- declaration

Family declare() {
  Family f("divergence", Topic::execution,
           "What does a branch cost if the lanes of a warp disagree about it?");
  f.physics =
      "A warp issues one instruction at a time for all lanes that execute it. If lanes diverge, "
      "the warp issues the two groups one after the other, and the groups reconverge after the "
      "branch. The time is the sum of the sides (expected_passes), and inactive lanes waste issue "
      "slots. Divergence between warps costs nothing. If cost is large, the time relative to "
      "uniform is expected_passes. If cost is small, memory access limits all variants equally and "
      "hides the difference.";
  const auto warps = [](const Problem& p) { return p.warps(); };
  f.extent("n", &Problem::n, 1 << 22, 1 << 30, "elements of x and y")
      .real("fraction", &Problem::fraction, 0.5, 0.0, 1.0, "", "share of elements that take side A")
      .integer("cost", &Problem::cost, 256, 1, fma_way::kMaxCost, "",
               "dependent fused multiply-adds on either side");
  f.input("x", &Data::x, &Problem::n)
      .input("x_shuffled", &Data::x_shuffled, &Problem::n)
      .input("sides_uniform", &Data::sides_uniform, warps)
      .input("sides_in_warp", &Data::sides_in_warp, warps)
      .input("sides_by_warp", &Data::sides_by_warp, warps)
      .input("sides_random", &Data::sides_random, warps)
      .input("sides_sorted", &Data::sides_sorted, warps)
      .output("y_uniform", &Data::y_uniform, &Problem::n)
      .output("y_in_warp", &Data::y_in_warp, &Problem::n)
      .output("y_by_warp", &Data::y_by_warp, &Problem::n)
      .output("y_random", &Data::y_random, &Problem::n)
      .output("y_sorted", &Data::y_sorted, &Problem::n);
  f.metric("expected_passes", "", "sides that a warp issues, on average over the warps")
      .metric("expected_active_lanes_pct", "%", "share of active lanes while a warp issues a side");
  f.plot("divergence", "relative_times", "Branch divergence: relative time",
         {{"param.fraction", "fraction of elements on side A"},
          {"param.cost", "cost of a side (dependent FMAs)"}});
  f.inputs = inputs;
  set_references(f, &Problem::n, [](const Problem& p, const Data& d, int o) {
    return references(p, d)[static_cast<std::size_t>(o)];
  });
  f.tolerance_derivation = fma_way::kToleranceDerivation;
  f.tolerance = [](const Problem& p) { return fma_way::tolerance(p.cost); };
  f.variants(uniform(), split_in_warp(), split_by_warp(), random(), sorted(), select());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::divergence
