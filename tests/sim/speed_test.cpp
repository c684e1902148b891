// Benchmark of execution speed: with and without checks, and timed. Not part of the test run.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <variant>

#include "family/registry.hpp"
#include "sim/execution.hpp"
#include "simulated/host_problem.hpp"
#include "support/catch.hpp"
#include "support/small_problems.hpp"
#include "support/timed_run.hpp"
#include "timing/sm_time.hpp"

namespace gpuexp::test {
namespace {

/// Lane instructions per second, the best of several runs.
struct Speeds {
  double without = 0;
  double with = 0;
  double timed = 0;  ///< without checks, cycle by cycle, with L1
};

/// CPU time, which other processes do not affect.
template <class Function>
double seconds_of(const Function& function) {
  const std::clock_t begin = std::clock();
  function();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

/// Figures of an SM; the host's time does not depend on their exact values.
SmParameters some_figures() {
  SmParameters f = parameters();
  f.l1_bytes = 128 * 1024;
  f.behind.dram_read_share = f.behind.dram_write_share = 0.5;
  f.behind.l2_sectors = 1 << 16;
  f.behind.l2_read_clocks = f.behind.l2_write_clocks = 2;
  f.behind.l2_fill_clocks = f.behind.l2_first_write_clocks = 2;
  f.behind.dram_read_clocks = f.behind.dram_write_clocks = 4;
  return f;
}

/// Executes all blocks on one SM and returns the number of warp instructions.
std::uint64_t time_on_one_sm(sim::Simulator& simulator, const Steps& launch) {
  sim::LaunchState state = simulator.launch_of(std::get<KernelStep>(launch.all().front().action));
  state.checks.memory = false;
  state.counts_accesses = false;
  const SmParameters parameters = some_figures();
  const Schedule schedule = schedule_of(*state.program, parameters);
  REQUIRE(schedule.refusal.empty());
  constexpr std::int64_t kMaxThreads = 2048;  // per SM
  const auto resident = static_cast<int>(kMaxThreads / state.block.count());
  const BlocksOfSm blocks{state.grid.count(), 1, resident};
  return time_on_sm(state, schedule, parameters, blocks, [] { return false; }).instructions;
}

Speeds speeds_of(const Family& family, const Variant& variant) {
  constexpr std::int64_t kSize = 256;
  const Values values = values_with(family, {{"m", kSize}, {"n", kSize}, {"k", kSize}});
  sim::Simulator simulator(kernels(), device().compute_capability());
  simulator.uses_host_loops = true;
  simulator.threads = 1;
  HostProblem problem(family, values, 7, device(), simulator);
  Speeds speeds;
  double lanes_of_warp = 0;
  for (int iteration = 0; iteration < 20; ++iteration) {
    sim::Checks checks;
    checks.memory = iteration % 2 == 0;
    simulator.set_checks(checks);
    problem.poison(variant);
    double lanes = 0;
    double warps = 0;
    const double seconds = seconds_of([&] {
      for (const auto& kernel : problem.launch(variant)) {
        for (const sim::OpCount& count : kernel.counts) {
          lanes += static_cast<double>(count.lanes);
          warps += static_cast<double>(count.warps);
        }
      }
    });
    double& best = checks.memory ? speeds.with : speeds.without;
    best = std::max(best, lanes / seconds);
    lanes_of_warp = lanes / warps;
  }
  const Steps launch = problem.steps(variant);
  for (int iteration = 0; iteration < 3; ++iteration) {
    std::uint64_t warps = 0;
    const double seconds = seconds_of([&] { warps = time_on_one_sm(simulator, launch); });
    speeds.timed = std::max(speeds.timed, static_cast<double>(warps) * lanes_of_warp / seconds);
  }
  return speeds;
}

TEST_CASE("execution speed with checks, without checks, and timed", "[.speed]") {
  const Family& family = *Registry::global().find("matmul");
  for (const char* id :
       {"naive", "coalesced", "smem_tile", "coarsen_2d", "double_buffered", "async_stages"}) {
    const Variant* variant = family.find(id);
    REQUIRE(variant);
    const auto [without, with, timed] = speeds_of(family, *variant);
    std::printf(
        "%-16s %6.0f %6.0f million lane instructions per second, %4.1f %% less; timed %6.0f\n", id,
        without * 1e-6, with * 1e-6, 100 * (1 - with / without), timed * 1e-6);
  }
}

}  // namespace
}  // namespace gpuexp::test
