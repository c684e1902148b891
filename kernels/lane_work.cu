// lane_work: y = x after a number of steps that differs from element to element.
//
// The question: what does it cost if the lanes of a warp have different amounts of work, and which
// remedy helps? Ray tracing, iterations until convergence, searches and sparse rows have such
// loops.
//
// Numbers of trips are powers of 2, each half as frequent as the next smaller one: half of the
// elements make 1 trip, a quarter 2, and so on, up to 4^spread. The mean is spread + 1.
#include <algorithm>
#include <cmath>

#include "kernels/common/family.cuh"
#include "kernels/common/permutation.cuh"
#include "kernels/common/whole_numbers.cuh"

namespace gpuexp::lane_work {

struct Problem {
  std::int64_t n;
  int spread;

  __host__ __device__ int mean_trips() const { return spread + 1; }
  /// Doublings from 1 trip to the maximum.
  __host__ __device__ int doublings() const { return 2 * spread; }
  /// Number of elements that make at least 2^doublings trips.
  __host__ __device__ std::int64_t count_with(int doublings) const { return n >> doublings; }
};

struct Data {
  float* x;           // integers
  int* trips_equal;   // the mean for each element
  int* trips_random;  // in random order
  int* trips_binned;  // the same numbers, grouped so that the lanes of a warp have equal ones
  float* y_equal;
  float* y_random;
  float* y_binned;
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- a loop with a different number of trips per lane, in three orders

constexpr int kBlock = 256;
constexpr int kTrip = 64;  // dependent multiply-adds per trip

__global__ void __launch_bounds__(kBlock)
    loop_kernel(std::int64_t n, float one, const float* x, const int* trips, float* y) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
#pragma unroll 1
  for (int left = trips[i]; left > 0; --left)
    v = add_in_steps<kTrip>(v, one, one);
  y[i] = v;
}

// ---- launches and expected results

constexpr float kOne = 1.0f;  // as a value unknown to the compiler

double total_trips(const Problem& p) {
  double trips = static_cast<double>(p.n);
  for (int k = 1; k <= p.doublings(); ++k)
    trips += std::ldexp(static_cast<double>(p.count_with(k)), k - 1);
  return trips;
}

Work work(const Problem& p) {
  return reads<float>(p.n) + reads<int>(p.n) + writes<float>(p.n) +
         computes(Pipe::fp32, 2.0 * kTrip * total_trips(p));
}

/// Mean, over warps of 32 random elements, of the maximum number of trips, divided by mean_trips().
double longest_over_mean(const Problem& p) {
  double longest = 1.0;
  for (int k = 1; k <= p.doublings(); ++k)
    longest += std::ldexp(1.0 - std::pow(1.0 - std::ldexp(1.0, -k), kWarp), k - 1);
  return longest / p.mean_trips();
}

/// The same ratio for warps of consecutive elements in sorted order.
double binned_over_mean(const Problem& p) {
  double trips = static_cast<double>(ceil_div(p.n, kWarp));
  for (int k = 1; k <= p.doublings(); ++k)
    trips += std::ldexp(static_cast<double>(ceil_div(p.count_with(k), kWarp)), k - 1);
  return trips * kWarp / total_trips(p);
}

MetricValues metrics(double passes) {
  return {{"expected_passes", passes}, {"expected_active_lanes_pct", 100.0 / passes}};
}

using Kernel = void (*)(std::int64_t, float, const float*, const int*, float*);

Variant of_kernel(std::string id, std::string compare_to, Kernel kernel, int elements_per_block,
                  int* Data::*trips, float* Data::*y, std::string output,
                  ExpectedChangesOf<Problem> expected) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.writes = {std::move(output)};
  v.work = work;
  v.launch = [=](const Problem& p, const Data& d, const LaunchContext&) {
    const Shape s = shape_of_tiles(p.n, elements_per_block, kBlock);
    return launch(kernel, s, p.n, kOne, d.x, d.*trips, d.*y);
  };
  return v;
}

// Problems with different numbers of trips, and with enough warps for averages to hold.
bool differs(const Problem& p) {
  constexpr std::int64_t kMany = 1 << 15;
  return p.n >= kMany && p.spread > 0;
}
bool differs_much(const Problem& p) {
  return differs(p) && p.spread > 1;
}

// ---- equal: the same number of trips for all lanes
//
// Every element makes the mean number of trips, so no lane waits for another one. A chain of
// dependent multiply-adds issues every 4th cycle. The 16 warps of a scheduler hide this latency, so
// issue slots are the limit.

Variant equal() {
  Variant v = of_kernel("equal", "", loop_kernel, kBlock, &Data::trips_equal, &Data::y_equal,
                        "y_equal", {});
  v.metrics = [](const Problem&, const DeviceSpec&) { return metrics(1.0); };
  return v;
}

// ---- random: numbers of trips in random order
//
// The total work is the same as in equal. A lane that has finished leaves the loop, but its warp
// continues until the last lane has finished. The warp issues as many trips as its longest lane
// makes: warp_instructions increases and active_lanes_per_instruction decreases in proportion. A
// finished warp frees its issue slots for other warps, but its warp slot on the SM stays occupied
// until its block ends.

Variant random() {
  Variant v = of_kernel("random", "equal", loop_kernel, kBlock, &Data::trips_random,
                        &Data::y_random, "y_random",
                        {{"active_lanes_per_instruction", Direction::decreases, 1.5, differs},
                         {"warp_instructions", Direction::increases, 1.5, differs}});
  v.metrics = [](const Problem& p, const DeviceSpec&) { return metrics(longest_over_mean(p)); };
  return v;
}

// ---- until_block_done: loop until the whole block is done
//
// Before each trip, the block votes on whether any of its threads has work left (__syncthreads_or),
// as in loops whose threads exchange data. Each trip of the longest of 256 elements costs every
// warp a vote, so warp_instructions increases, and between trips all warps wait for the slowest
// one.

__global__ void __launch_bounds__(kBlock)
    block_loop_kernel(std::int64_t n, float one, const float* x, const int* trips, float* y) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  float v = i < n ? x[i] : 0.0f;
  int left = i < n ? trips[i] : 0;
#pragma unroll 1
  while (__syncthreads_or(left > 0)) {
    if (left > 0) {
      v = add_in_steps<kTrip>(v, one, one);
      --left;
    }
  }
  if (i < n) y[i] = v;
}

Variant until_block_done() {
  Variant v = of_kernel("until_block_done", "random", block_loop_kernel, kBlock,
                        &Data::trips_random, &Data::y_random, "y_random",
                        {{"warp_instructions", Direction::increases, 1.05, differs}});
  v.metrics = [](const Problem& p, const DeviceSpec&) { return metrics(longest_over_mean(p)); };
  return v;
}

// ---- binned: equal numbers of trips within a warp
//
// The numbers of trips are sorted, and each 32 consecutive ones form a warp, so a warp issues about
// the mean of its lanes: warp_instructions decreases and active_lanes_per_instruction increases.
// The warps are in random order, so blocks contain warps of all lengths. The cost is the sort,
// which is not timed, and the numbers of trips must be known before the loop.

Variant binned() {
  Variant v = of_kernel("binned", "random", loop_kernel, kBlock, &Data::trips_binned,
                        &Data::y_binned, "y_binned",
                        {{"active_lanes_per_instruction", Direction::increases, 1.5, differs},
                         {"warp_instructions", Direction::decreases, 1.5, differs}});
  v.metrics = [](const Problem& p, const DeviceSpec&) { return metrics(binned_over_mean(p)); };
  return v;
}

// ---- refill: idle lanes take the next element
//
// Each warp has a queue of 1024 consecutive elements instead of 32. Before each trip, lanes without
// work take the next elements: a ballot identifies these lanes, and each lane counts the idle lanes
// below it. All lanes stay active until the queue is empty, in any order of elements and without
// knowing the numbers of trips in advance (as persistent threads trace rays: Aila and Laine, HPG
// 2009). warp_instructions decreases and active_lanes_per_instruction increases. The cost is a
// ballot per trip, loads and stores with few active lanes, and idle lanes during the last elements.

constexpr int kQueue = 1024;  // elements per warp

__global__ void __launch_bounds__(kBlock)
    refill_kernel(std::int64_t n, float one, const float* x, const int* trips, float* y) {
  const std::int64_t warp =
      static_cast<std::int64_t>(blockIdx.x) * (kBlock / kWarp) + threadIdx.x / kWarp;
  const std::int64_t first = warp * kQueue;
  if (first >= n) return;
  const int count = static_cast<int>(min(n - first, std::int64_t{kQueue}));
  x += first;
  trips += first;
  y += first;
  const unsigned lanes_below = (1u << threadIdx.x % kWarp) - 1;
  int next = 0;      // first element of the queue that no lane has taken
  int mine = count;  // none yet
  int left = 0;
  float v = 0.0f;
#pragma unroll 1
  while (true) {
    const unsigned idle = __ballot_sync(kAllLanes, left == 0);
    if (idle != 0) {
      if (left == 0) {
        if (mine < count) y[mine] = v;
        mine = next + __popc(idle & lanes_below);
        if (mine < count) {
          v = x[mine];
          left = trips[mine];
        }
      }
      if (idle == kAllLanes && next >= count) break;
      next += __popc(idle);
    }
    if (left > 0) {
      v = add_in_steps<kTrip>(v, one, one);
      --left;
    }
  }
}

Variant refill() {
  return of_kernel("refill", "random", refill_kernel, kBlock / kWarp * kQueue, &Data::trips_random,
                   &Data::y_random, "y_random",
                   {{"active_lanes_per_instruction", Direction::increases, 1.5, differs_much},
                    {"warp_instructions", Direction::decreases, 1.5, differs_much}});
}

// ---- inputs and the plain reference

struct EqualTrips {
  Problem p;
  __host__ __device__ int operator()(std::int64_t) const { return p.mean_trips(); }
};
// Descending numbers of trips.
struct SortedTrips {
  Problem p;
  __host__ __device__ int operator()(std::int64_t i) const {
    int doublings = 0;
    while (doublings < p.doublings() && i < p.count_with(doublings + 1))
      ++doublings;
    return 1 << doublings;
  }
};
struct RandomTrips {
  SortedTrips sorted;
  Permutation order;
  __host__ __device__ int operator()(std::int64_t i) const { return sorted(order(i)); }
};

// Warps of consecutive elements in sorted order; the warps are in random order, a partial one last.
struct BinnedTrips {
  SortedTrips sorted;
  Permutation order;  // permutes whole warps
  std::int64_t warps;
  __host__ __device__ int operator()(std::int64_t i) const {
    const std::int64_t warp = i / kWarp;
    return sorted(warp < warps ? order(warp) * kWarp + i % kWarp : i);
  }
};

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  const Permutation order(stream_seed(seed, 1), p.n);
  Steps steps = fill(d.x, p.n, WholeStart{stream_seed(seed, 0)});
  steps += fill(d.trips_equal, p.n, EqualTrips{p});
  steps += fill(d.trips_random, p.n, RandomTrips{{p}, order});
  const std::int64_t warps = p.n / kWarp;
  const Permutation order_of_warps(stream_seed(seed, 2), std::max<std::int64_t>(1, warps));
  steps += fill(d.trips_binned, p.n, BinnedTrips{{p}, order_of_warps, warps});
  return steps;
}

struct AfterTrips {
  const float* x;
  const int* trips;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    return {static_cast<double>(x[i]) + static_cast<double>(kTrip) * trips[i], 0.0};
  }
};

AfterTrips after_trips(const Data& d, int output) {
  const int* const trips[] = {d.trips_equal, d.trips_random, d.trips_binned};
  return {d.x, trips[output]};
}

// ---- declaration

Family declare() {
  Family f("lane_work", Topic::execution,
           "What does it cost if the lanes of a warp have different amounts of work, and which "
           "remedy helps?");
  f.physics =
      "A warp leaves a loop together with its last lane. If trips are in random order, a warp "
      "issues as many trips as the longest of 32 elements makes, although the work is their mean: "
      "expected_passes is the factor. Two remedies avoid the loss: grouping elements of equal "
      "length in one warp, and giving idle lanes other elements to process.";
  constexpr int kMaxSpread = 4;
  f.extent("n", &Problem::n, 1 << 24, 1 << 30, "elements of x and y")
      .integer("spread", &Problem::spread, 3, 0, kMaxSpread, "",
               "elements make 1 to 4^spread trips, spread + 1 on average");
  f.input("x", &Data::x, &Problem::n)
      .input("trips_equal", &Data::trips_equal, &Problem::n)
      .input("trips_random", &Data::trips_random, &Problem::n)
      .input("trips_binned", &Data::trips_binned, &Problem::n)
      .output("y_equal", &Data::y_equal, &Problem::n)
      .output("y_random", &Data::y_random, &Problem::n)
      .output("y_binned", &Data::y_binned, &Problem::n);
  f.metric("expected_passes", "", "trips of the longest lane of a warp, divided by the mean")
      .metric("expected_active_lanes_pct", "%", "share of lanes that have work left during a trip");
  f.plot("lane_work", "relative_times", "Unequal work per lane: relative time",
         {{"param.spread", "spread: trips are 1 to 4^spread"}});
  f.inputs = inputs;
  set_references(f, &Problem::n,
                 [](const Problem&, const Data& d, int o) { return after_trips(d, o); });
  f.tolerance_derivation =
      "Zero: a multiply-add with a factor and an addend of 1 adds 1 to an integer. Starts below "
      "2^10 and up to 2^8 trips of 2^6 steps stay below 2^24, and fp32 represents all integers up "
      "to 2^24.";
  static_assert(kIntegerRange + (kTrip << 2 * kMaxSpread) < kMaxExactInteger, "sums are exact");
  f.variants(equal(), random(), until_block_done(), binned(), refill());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::lane_work
