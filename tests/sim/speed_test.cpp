// How fast kernels are executed, with checks and without: a benchmark, not run with the others.
#include <algorithm>
#include <cstdio>
#include <ctime>

#include "family/registry.hpp"
#include "sim/execution.hpp"
#include "simulated/host_problem.hpp"
#include "support/catch.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

/// Lane instructions per second, the best of several runs.
struct Speeds {
  double without = 0;
  double with = 0;
};

Speeds speeds_of(const Family& family, const Variant& variant) {
  constexpr std::int64_t kSize = 256;
  const Values values = values_with(family, {{"m", kSize}, {"n", kSize}, {"k", kSize}});
  sim::Simulator simulator(kernels(), device().compute_capability());
  simulator.takes_host_loops = true;
  simulator.threads = 1;
  HostProblem problem(family, values, 7, device(), simulator);
  Speeds speeds;
  for (int turn = 0; turn < 20; ++turn) {
    sim::Checks checks;
    checks.memory = turn % 2 == 0;
    simulator.set_checks(checks);
    problem.poison(variant);
    const std::clock_t begin = std::clock();  // time of the processor: others may use it as well
    std::uint64_t lanes = 0;
    for (const auto& kernel : problem.launch(variant)) {
      for (const sim::OpCount& count : kernel.counts)
        lanes += count.lanes;
    }
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    double& best = checks.memory ? speeds.with : speeds.without;
    best = std::max(best, static_cast<double>(lanes) / seconds);
  }
  return speeds;
}

TEST_CASE("speed of execution with checks and without", "[.speed]") {
  const Family& family = *Registry::global().find("matmul");
  for (const char* id :
       {"naive", "coalesced", "smem_tile", "coarsen_2d", "double_buffered", "async_stages"}) {
    const Variant* variant = family.find(id);
    REQUIRE(variant);
    const auto [without, with] = speeds_of(family, *variant);
    std::printf("%-16s %6.0f %6.0f million lane instructions per second, %4.1f %% less\n", id,
                without * 1e-6, with * 1e-6, 100 * (1 - with / without));
  }
}

}  // namespace
}  // namespace gpuexp::test
