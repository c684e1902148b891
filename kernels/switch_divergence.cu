// switch_divergence: y = case w of x, with one of `ways` cases per element; the case changes from
// lane to lane or from warp to warp.
//
// The question: what does a switch with many cases cost? A warp issues every case that at least one
// of its lanes takes. Interpreters, state machines and tagged unions with one element per lane
// behave like this.
#include <algorithm>
#include <cmath>

#include "kernels/common/family.cuh"
#include "kernels/common/fma_way.cuh"

namespace gpuexp::switch_divergence {

struct Problem {
  std::int64_t n;
  int ways;
  int cost;
};

struct Data {
  float* x;          ///< n
  float* y_in_warp;  ///< n: the case changes from lane to lane
  float* y_by_warp;  ///< n: the case changes from warp to warp
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

/// Case of element i if `run` consecutive elements take the same case: 0, 1, …, ways-1, 0, …
__host__ __device__ inline unsigned way_of(unsigned i, unsigned run, unsigned ways) {
  return i / run % ways;
}

constexpr unsigned kLane = 1;

// ---- the switch, in two layouts

constexpr int kBlock = 256;

__device__ float take(unsigned way, float x, int cost);

__global__ void __launch_bounds__(kBlock)
    switch_kernel(unsigned n, unsigned run, unsigned ways, int cost, const float* x, float* y) {
  const unsigned i = blockIdx.x * kBlock + threadIdx.x;
  if (i < n) y[i] = take(way_of(i, run, ways), x[i], cost);
}

// On compute capability 9.0 this becomes a tree of branches (BRA) that ends in indirect jumps
// (BRX): a few instructions. Lanes diverge there only if their cases differ.
__device__ float take(unsigned way, float x, int cost) {
  switch (way) {
    case 0: return fma_way::run<0>(x, cost);
    case 1: return fma_way::run<1>(x, cost);
    case 2: return fma_way::run<2>(x, cost);
    case 3: return fma_way::run<3>(x, cost);
    case 4: return fma_way::run<4>(x, cost);
    case 5: return fma_way::run<5>(x, cost);
    case 6: return fma_way::run<6>(x, cost);
    case 7: return fma_way::run<7>(x, cost);
    case 8: return fma_way::run<8>(x, cost);
    case 9: return fma_way::run<9>(x, cost);
    case 10: return fma_way::run<10>(x, cost);
    case 11: return fma_way::run<11>(x, cost);
    case 12: return fma_way::run<12>(x, cost);
    case 13: return fma_way::run<13>(x, cost);
    case 14: return fma_way::run<14>(x, cost);
    case 15: return fma_way::run<15>(x, cost);
    case 16: return fma_way::run<16>(x, cost);
    case 17: return fma_way::run<17>(x, cost);
    case 18: return fma_way::run<18>(x, cost);
    case 19: return fma_way::run<19>(x, cost);
    case 20: return fma_way::run<20>(x, cost);
    case 21: return fma_way::run<21>(x, cost);
    case 22: return fma_way::run<22>(x, cost);
    case 23: return fma_way::run<23>(x, cost);
    case 24: return fma_way::run<24>(x, cost);
    case 25: return fma_way::run<25>(x, cost);
    case 26: return fma_way::run<26>(x, cost);
    case 27: return fma_way::run<27>(x, cost);
    case 28: return fma_way::run<28>(x, cost);
    case 29: return fma_way::run<29>(x, cost);
    case 30: return fma_way::run<30>(x, cost);
    case 31: return fma_way::run<31>(x, cost);
    default: return NAN;
  }
}
static_assert(fma_way::kWays == 32, "take() spells out every way");

Work work(const Problem& p) {
  const auto n = static_cast<double>(p.n);
  return moves_bytes(n * sizeof(float), n * sizeof(float)) +
         computes(Pipe::fp32, fma_way::operations(p.cost) * n);
}

/// Number of cases that a warp issues.
double passes(const Problem& p, unsigned run) {
  return run == kLane ? std::min(p.ways, kWarp) : 1.0;
}

Variant switched(std::string id, unsigned run, float* Data::*y, const char* output) {
  Variant v(std::move(id));
  v.writes = {output};
  v.work = work;
  v.metrics = [run](const Problem& p, const DeviceSpec&) {
    const double ways = passes(p, run);
    return MetricValues{{"expected_passes", ways}, {"expected_active_lanes_pct", 100.0 / ways}};
  };
  v.launch = [run, y](const Problem& p, const Data& d, const LaunchContext&) {
    const Shape s = shape_of_tiles(p.n, kBlock, kBlock);
    return launch(switch_kernel, s, p.n, run, p.ways, p.cost, d.x, d.*y);
  };
  return v;
}

// ---- switch_by_warp: one case per warp
//
// Warp w takes case w mod ways. All cases are equally frequent and each warp takes one, so the time
// should not depend on their number. Instruction fetch may increase it, because the warps of a
// scheduler execute up to 32 different loops of 576 bytes instead of one. On an H200 16 cases cost
// nothing, and 32 do.

Variant switch_by_warp() {
  Variant v = switched("switch_by_warp", kWarp, &Data::y_by_warp, "y_by_warp");
  return v;
}

// Problems whose cases outweigh the constant cost per element.
bool splits_warps(const Problem& p) {
  constexpr int kLongEnough = 64;
  return p.n >= kBlock && p.cost >= kLongEnough && p.ways > 1;
}

// ---- switch_in_warp: neighbouring lanes branch to different cases
//
// Neighbouring lanes take neighbouring cases of the switch, and the lanes of a warp diverge. The
// warp issues each case once, one after the other, with 32 / ways active lanes:
// active_lanes_per_instruction decreases to this number. Each additional case adds the time of one
// case.
Variant switch_in_warp() {
  return switched("switch_in_warp", kLane, &Data::y_in_warp, "y_in_warp")
      .against("switch_by_warp",
               {{"active_lanes_per_instruction", Direction::decreases, 1.3, splits_warps},
                {"warp_instructions", Direction::increases, 1.3, splits_warps}});
}

// ---- the plain reference

struct Reference {
  Problem p;
  const float* x;
  unsigned run;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    const unsigned way = way_of(static_cast<unsigned>(i), run, static_cast<unsigned>(p.ways));
    return fma_way::exact(way, x[i], p.cost);
  }
};

// ---- declaration

Family declare() {
  Family f("switch_divergence", Topic::execution,
           "What does a switch with many cases cost within a warp?");
  f.physics =
      "The branches of a switch send each lane of a warp to the address of its case. The warp then "
      "issues one case after the other, each for the lanes that take it. k cases of equal cost in "
      "one warp therefore take k times as long, with 32 / k active lanes at a time. If the lanes "
      "of each warp agree, k does not matter.";
  f.extent("n", &Problem::n, 1 << 22, 1 << 30, "elements of x and y")
      .integer("ways", &Problem::ways, 4, 1, fma_way::kWays, "", "cases of the switch in use")
      .integer("cost", &Problem::cost, 256, 1, fma_way::kMaxCost, "",
               "dependent fused multiply-adds per case");
  f.input("x", &Data::x, &Problem::n)
      .output("y_in_warp", &Data::y_in_warp, &Problem::n)
      .output("y_by_warp", &Data::y_by_warp, &Problem::n);
  f.metric("expected_passes", "", "cases that a warp issues")
      .metric("expected_active_lanes_pct", "%", "share of active lanes while a warp issues a case");
  f.plot("switch_divergence", "relative_times", "Switch with many cases: relative time",
         {{"param.ways", "cases among the elements"}});
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    return fill_uniform(d.x, p.n, stream_seed(seed, 0));
  };
  set_references(f, &Problem::n, [](const Problem& p, const Data& d, int o) {
    return Reference{p, d.x, o == 0 ? kLane : kWarp};
  });
  f.tolerance_derivation = fma_way::kToleranceDerivation;
  f.tolerance = [](const Problem& p) { return fma_way::tolerance(p.cost); };
  f.variants(switch_by_warp(), switch_in_warp());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::switch_divergence
