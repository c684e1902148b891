// Executes one problem on the GPU and the CPU, for tests that compare the two.
#pragma once

#include <functional>
#include <optional>

#include "gpu/device_query.hpp"
#include "gpu/problem_launches.hpp"
#include "simulated/host_problem.hpp"
#include "simulated/simulated_executor.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {

inline const DeviceSpec& this_device() {
  static const DeviceSpec spec = query_device(0, {}).spec;
  return spec;
}

inline const KernelResources& built_kernels() {
  static const KernelResources resources = [] {
    std::size_t count = 0;
    const KernelResource* table = kernel_resource_table(count);
    return KernelResources(table, count);
  }();
  return resources;
}

/// Simulator with the settings of the executor on the CPU.
struct DeviceSimulator : sim::Simulator {
  DeviceSimulator() : Simulator(built_kernels(), this_device().compute_capability()) {
    uses_host_loops = true;
  }
};

struct BothExecutors {
  static constexpr std::uint64_t kSeed = 7;

  BothExecutors(const Family& of, const Values& values)
      : family(of),
        gpu(family, values, kSeed, this_device(), stream),
        cpu(family, values, kSeed, this_device(), simulator) {}

  /// Calls `run` for variants that this device supports and whose blocks the CPU can all execute in
  /// reasonable time.
  void for_each_variant(const std::function<void(const Variant&)>& run) {
    constexpr double kMaxOperations = 2e8;
    SimulatedOptions options;
    options.blocks = {ExecutedBlocks::kAll};
    SimulationLimits limits(this_device(), built_kernels(), options);
    const void* const problem = cpu.problem();
    for (const Variant& variant : family.variants) {
      if (!runs_on(this_device(), family, variant, problem)) continue;
      if (operation_count(variant.work(problem)) > kMaxOperations) continue;
      if (limits.refusal(variant, problem).empty()) run(variant);
    }
  }

  const Family& family;
  const CudaStream stream;
  ProblemLaunches gpu;
  DeviceSimulator simulator;
  HostProblem cpu;
};

/// Runs the test on each of the family's small problems that this device supports.
inline void for_small_problems(const Family& family,
                               const std::function<void(BothExecutors&)>& test) {
  for (const Values& small : small_problems(family)) {
    const Values values = with_short_loops(family, small);
    const auto problem = family.make_problem(values);
    if (family.unsupported && family.unsupported(problem.get(), this_device())) continue;
    BothExecutors both(family, values);
    test(both);
  }
}

}  // namespace gpuexp::test
