// lane_work: y = x after as many steps as the element asks for; elements differ in how many.
//
// The question: what does it cost when the lanes of a warp have different amounts of work, and what
// gets it back? A loop whose trips differ by lane ends for the warp with its longest lane. Lanes
// that are done wait, switched off, and the warp makes the trips of the longest: its issue slots go
// by the maximum of 32 elements, where the work is their mean. Rays, iterations until something
// converges, searches and sparse rows are like this.
//
// Trips are powers of 2, each half as frequent as the one below: half of the elements make 1, a
// quarter 2, and so on, up to 4^spread. Their mean is spread + 1. That of the longest of 32 is
// known without measuring (expected_passes), and so is what each remedy has to bring.
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
  /// Doublings from 1 trip to the most.
  __host__ __device__ int doublings() const { return 2 * spread; }
  /// Elements that make at least 2^doublings trips.
  __host__ __device__ std::int64_t of_at_least(int doublings) const { return n >> doublings; }
};

struct Data {
  float* x;           // whole numbers
  int* trips_equal;   // the mean, of each element
  int* trips_random;  // in random order
  int* trips_binned;  // the same ones, equal ones in one warp
  float* y_equal;
  float* y_random;
  float* y_binned;
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- a loop of as many trips as each lane has, in three orders

constexpr int kBlock = 256;
constexpr int kTrip = 64;  // dependent multiply-adds of a trip

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

// ---- how the variants are launched, and what they should do

constexpr float kOne = 1.0f;  // which the compiler does not know

double total_trips(const Problem& p) {
  double trips = static_cast<double>(p.n);
  for (int k = 1; k <= p.doublings(); ++k)
    trips += std::ldexp(static_cast<double>(p.of_at_least(k)), k - 1);
  return trips;
}

Work work(const Problem& p) {
  return reads<float>(p.n) + reads<int>(p.n) + writes<float>(p.n) +
         computes(Pipe::fp32, 2.0 * kTrip * total_trips(p));
}

/// The most trips of a warp of elements drawn at random, on average, over the mean of an element.
double longest_over_mean(const Problem& p) {
  double longest = 1.0;
  for (int k = 1; k <= p.doublings(); ++k)
    longest += std::ldexp(1.0 - std::pow(1.0 - std::ldexp(1.0, -k), kWarp), k - 1);
  return longest / p.mean_trips();
}

/// The same of warps of neighbours in sorted order, of which few hold elements that differ.
double binned_over_mean(const Problem& p) {
  double trips = static_cast<double>(ceil_div(p.n, kWarp));
  for (int k = 1; k <= p.doublings(); ++k)
    trips += std::ldexp(static_cast<double>(ceil_div(p.of_at_least(k), kWarp)), k - 1);
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

// Where trips differ, and enough warps are there for what they make on average.
bool differs(const Problem& p) {
  constexpr std::int64_t kMany = 1 << 15;
  return p.n >= kMany && p.spread > 0;
}
bool differs_much(const Problem& p) {
  return differs(p) && p.spread > 1;
}

// ---- equal
//
// Every element makes the mean number of trips: no lane waits for another one, and the work is that
// of all other variants. A chain of dependent multiply-adds issues every 4th cycle, which the 16
// warps of a scheduler hide, so issue slots are the limit.

Variant equal() {
  Variant v = of_kernel("equal", "", loop_kernel, kBlock, &Data::trips_equal, &Data::y_equal,
                        "y_equal", {});
  v.metrics = [](const Problem&, const DeviceSpec&) { return metrics(1.0); };
  return v;
}

// ---- random
//
// As much work in random order. A lane that is done leaves the loop, but its warp goes on until the
// last one has: as many trips as the longest of 32 makes, while active_lanes_per_instruction falls
// in proportion. A warp that is done does leave: its issue slots are free for others, though its
// place on the SM is not before its block is done.

Variant random() {
  Variant v = of_kernel("random", "equal", loop_kernel, kBlock, &Data::trips_random,
                        &Data::y_random, "y_random",
                        {{"active_lanes_per_instruction", Direction::decreases, 1.5, differs},
                         {"warp_instructions", Direction::increases, 1.5, differs}});
  v.metrics = [](const Problem& p, const DeviceSpec&) { return metrics(longest_over_mean(p)); };
  return v;
}

// ---- until_block_done: leave together
//
// The block asks before each trip whether any of its threads has work left (__syncthreads_or), as
// loops do whose threads need each other. Warps without any stay to ask: each trip of the longest
// of 256 elements costs every warp the question, so warp_instructions rises, and between trips
// warps wait for the slowest one.

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

// ---- binned: neighbours of equal length
//
// The same numbers of trips, sorted, and each 32 of them in one warp, so that a warp makes the mean
// of its lanes. The warps lie in random order, as bins that are filled side by side would leave
// them: blocks hold warps of all lengths. It costs the sort, which is not included, and that the
// number of trips is known before they are made.

Variant binned() {
  Variant v = of_kernel("binned", "random", loop_kernel, kBlock, &Data::trips_binned,
                        &Data::y_binned, "y_binned",
                        {{"active_lanes_per_instruction", Direction::increases, 1.5, differs},
                         {"warp_instructions", Direction::decreases, 1.5, differs}});
  v.metrics = [](const Problem& p, const DeviceSpec&) { return metrics(binned_over_mean(p)); };
  return v;
}

// ---- refill: a lane that is done takes the next element
//
// A warp has a queue of 1024 neighbouring elements in place of 32. Before each trip, lanes without
// work take the next ones of it: a vote says who they are, and each counts those below it. So all
// lanes are on until the queue is empty, in any order and with trips that nobody knew before (as
// persistent threads trace rays: Aila and Laine, HPG 2009). It costs the vote in each trip, loads
// and stores of few lanes at a time, and the end, where lanes wait for the last elements.

constexpr int kQueue = 1024;  // elements of a warp

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
  int next = 0;      // of the queue: the first that no lane has taken
  int mine = count;  // none
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
// The most trips first.
struct SortedTrips {
  Problem p;
  __host__ __device__ int operator()(std::int64_t i) const {
    int doublings = 0;
    while (doublings < p.doublings() && i < p.of_at_least(doublings + 1))
      ++doublings;
    return 1 << doublings;
  }
};
struct RandomTrips {
  SortedTrips sorted;
  Permutation order;
  __host__ __device__ int operator()(std::int64_t i) const { return sorted(order(i)); }
};

// Warps of neighbours in sorted order, themselves in random order; what fills no warp comes last.
struct BinnedTrips {
  SortedTrips sorted;
  Permutation order;  // of whole warps
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

/// Of an output, in the order of declaration.
AfterTrips after_trips(const Data& d, int output) {
  const int* const trips[] = {d.trips_equal, d.trips_random, d.trips_binned};
  return {d.x, trips[output]};
}

// ---- declaration

Family declare() {
  Family f("lane_work", Topic::execution,
           "What does it cost when the lanes of a warp have different amounts of work, and what "
           "gets it back?");
  f.physics =
      "A warp leaves a loop with its last lane. With trips in random order it makes as many as the "
      "longest of 32 elements, where the work is their mean: expected_passes is the factor. What "
      "brings elements of equal length into one warp gets it back, and so does giving lanes that "
      "are done something else to do.";
  constexpr int kMostSpread = 4;
  f.extent("n", &Problem::n, 1 << 24, 1 << 30, "elements of x and y")
      .integer("spread", &Problem::spread, 3, 0, kMostSpread, "",
               "elements make 1 to 4^spread trips, spread + 1 on average");
  f.input("x", &Data::x, &Problem::n)
      .input("trips_equal", &Data::trips_equal, &Problem::n)
      .input("trips_random", &Data::trips_random, &Problem::n)
      .input("trips_binned", &Data::trips_binned, &Problem::n)
      .output("y_equal", &Data::y_equal, &Problem::n)
      .output("y_random", &Data::y_random, &Problem::n)
      .output("y_binned", &Data::y_binned, &Problem::n);
  f.metric("expected_passes", "", "trips of the longest lane of a warp, over the mean")
      .metric("expected_active_lanes_pct", "%", "lanes that have work left during a trip");
  f.figure("lane_work", "relative_times", "Lanes with different amounts of work",
           {{"param.spread", "spread: trips are 1 to 4^spread"}});
  f.inputs = inputs;
  set_references(f, &Problem::n,
                 [](const Problem&, const Data& d, int o) { return after_trips(d, o); });
  f.tolerance_derivation =
      "Zero: a multiply-add with a factor and a summand of 1 adds 1 to a whole number. Starts "
      "below 2^10 and up to 2^8 trips of 2^6 steps stay below 2^24, to which fp32 has all whole "
      "numbers.";
  static_assert(kWholeStarts + (kTrip << 2 * kMostSpread) < kWholeEnd, "sums are exact");
  f.variants(equal(), random(), until_block_done(), binned(), refill());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::lane_work
