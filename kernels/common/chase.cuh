// Chains of dependent steps: each step needs the result of the previous one, so time divided by
// the number of steps is a latency.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/common/launch.cuh"
#include "kernels/common/repeat.cuh"

namespace gpuexp {

inline constexpr int kUnrolledSteps =
    256;  ///< steps per iteration; its branch adds 1 % to the time of the fastest steps

// One step of a pointer chase: the loaded value is the address of the next load.
struct DefaultLoad {
  static __device__ void step(std::uint64_t& at) {
    asm volatile("ld.global.u64 %0, [%0];" : "+l"(at)::"memory");
  }
};
struct LoadCg {
  static __device__ void step(std::uint64_t& at) {
    asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at)::"memory");
  }
};

// ---- walks that the kernel times

struct Clocks {
  long long cycles;
  long long nanoseconds;
};

__device__ inline long long global_nanoseconds() {
  long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

template <class Step>
__device__ Clocks timed_steps(int untimed, int steps, Step step) {
#pragma unroll 1
  for (int i = 0; i < untimed; ++i)
    step();
  const long long ns = global_nanoseconds();
  const long long cycle = clock64();
  repeat<kUnrolledSteps>(steps, step);
  const long long cycles = clock64() - cycle;
  return {cycles, global_nanoseconds() - ns};
}

/// Number of measured walks, whose median the metrics report.
inline constexpr int kMeasuredWalks = 5;

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

inline constexpr const char* kStepCyclesDoc = "SM cycles per step, read by the kernel";
inline constexpr const char* kStepNsDoc = "ns per step, read by the kernel";

/// Sets the variant's launch to one walk, and its metrics step_cycles and step_ns to medians of
/// kMeasuredWalks walks. walk(problem, data, context, clocks) returns the launch of a kernel that
/// makes problem.steps dependent steps and stores their duration to `clocks`.
template <class Variant, class Problem, class Data, class Walk>
void measure_walks(Variant& v, Walk walk) {
  v.workspace_bytes = [](const Problem&, const DeviceSpec&) {
    return static_cast<std::int64_t>(kMeasuredWalks * sizeof(Clocks));
  };
  v.launch = [walk](const Problem& p, const Data& d, const LaunchContext& x) {
    return walk(p, d, x, static_cast<Clocks*>(x.workspace));
  };
  v.measured_metrics = [walk](const Problem& p, const Data& d, const LaunchContext& x) {
    Measurement m;
    m.reads_clocks = true;
    for (int i = 0; i < kMeasuredWalks; ++i)
      m.steps += walk(p, d, x, static_cast<Clocks*>(x.workspace) + i);
    m.from = x.workspace;
    m.bytes = kMeasuredWalks * sizeof(Clocks);
    m.values = [steps = p.steps](const void* copied) {
      const auto* const clocks = static_cast<const Clocks*>(copied);
      std::vector<double> cycles;
      std::vector<double> ns;
      for (int i = 0; i < kMeasuredWalks; ++i) {
        cycles.push_back(static_cast<double>(clocks[i].cycles) / steps);
        ns.push_back(static_cast<double>(clocks[i].nanoseconds) / steps);
      }
      return MetricValues{{kStepCyclesMetric, median(cycles)}, {"step_ns", median(ns)}};
    };
    return m;
  };
}

/// Returns a reason if a walk ends at its first node. Verification only checks the end of a walk,
/// so it could not detect a walk that did not move.
inline std::optional<std::string> lacks_unique_end(std::int64_t nodes, std::int64_t steps) {
  if (steps % nodes != 0) return std::nullopt;
  return "needs steps that are not a multiple of " + std::to_string(nodes) +
         ", the number of nodes: a walk that never moved would end at the same node";
}

}  // namespace gpuexp
