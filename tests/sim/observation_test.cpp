// Counts per instruction and per source line of whole launches.
#include "sim/observation.hpp"

#include <algorithm>

#include "analysis/annotation.hpp"
#include "family/registry.hpp"
#include "sim/execution.hpp"
#include "simulated/host_problem.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

void check_equal(const sim::MemoryCounts& a, const sim::MemoryCounts& b) {
  CHECK(a.load_requests == b.load_requests);
  CHECK(a.load_sectors == b.load_sectors);
  CHECK(a.store_requests == b.store_requests);
  CHECK(a.store_sectors == b.store_sectors);
  CHECK(a.global_wavefronts == b.global_wavefronts);
  CHECK(a.tag_wavefronts == b.tag_wavefronts);
  CHECK(a.async_tag_wavefronts == b.async_tag_wavefronts);
  CHECK(a.shared_load_wavefronts == b.shared_load_wavefronts);
  CHECK(a.shared_store_wavefronts == b.shared_store_wavefronts);
  CHECK(a.shared_conflicts == b.shared_conflicts);
}

// Checks that counts per instruction and per line sum to the totals of the launch.
void check_sums(const std::vector<sim::KernelExecution>& executions) {
  for (const sim::KernelExecution& execution : executions) {
    REQUIRE(execution.places.size() == execution.counts.size());
    sim::PlaceCounts sum;
    std::uint64_t warps = 0;
    for (std::size_t i = 0; i < execution.places.size(); ++i) {
      const sim::PlaceCounts& place = execution.places[i];
      CHECK(place.ideal_load_sectors <= place.memory.load_sectors);
      CHECK(place.ideal_store_sectors <= place.memory.store_sectors);
      if (place.seen) CHECK(execution.counts[i].warps > 0);
      sum.add(place, 1);
      warps += execution.counts[i].warps;
    }
    check_equal(sum.memory, execution.memory);
    const Annotation annotation =
        annotate({execution}, {}, {}, {}, [](std::uint64_t) { return std::string("buffer"); });
    ExecutedCounts lines;
    for (const AnnotatedLine& line : annotation.kernels.front().lines)
      lines += line.counts;
    CHECK(lines.warps == static_cast<double>(warps));
    CHECK(lines.load_sectors == static_cast<double>(sum.memory.load_sectors));
    CHECK(lines.store_sectors == static_cast<double>(sum.memory.store_sectors));
    CHECK(lines.data_wavefronts == annotation.counts.data_wavefronts);
    CHECK(lines.time_us.sum() == 0);
  }
}

TEST_CASE("counts per instruction sum to those of the launch", "[observation]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  for (const char* id : {"matmul", "matmul_tensor", "coalescing", "struct_layout"}) {
    const Family& family = *Registry::global().find(id);
    std::map<std::string, Value> small;
    for (const Parameter& p : family.parameters) {
      if (p.is_extent) small[p.name] = std::int64_t{136};
    }
    const Values values = values_with(family, small);
    sim::Simulator simulator(kernels(), device().compute_capability());
    simulator.threads = 2;
    HostProblem problem(family, values, 7, device(), simulator);
    sim::Observation observation;
    observation.places = true;
    for (const Variant& variant : family.variants) {
      if (!runs_on(device(), family, variant, problem.problem())) continue;
      INFO(id << "/" << variant.id);
      simulator.observe(observation);
      const auto executions = problem.launch(variant);
      REQUIRE(!executions.empty());
      check_sums(executions);
    }
  }
}

TEST_CASE("counts per instruction are kept only on request", "[observation]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const Family& family = *Registry::global().find("coalescing");
  sim::Simulator simulator(kernels(), device().compute_capability());
  HostProblem problem(family, values_with(family, {{"n", std::int64_t{512}}}), 7, device(),
                      simulator);
  for (const auto& execution : problem.launch(*family.find("read_strided"))) {
    CHECK(execution.places.empty());
    CHECK(!execution.trace);
  }
}

// At stride 4, a lane reads every fourth word, 16 bytes apart.
TEST_CASE("the trace holds the addresses that the warp accesses", "[observation]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const Family& family = *Registry::global().find("coalescing");
  sim::Simulator simulator(kernels(), device().compute_capability());
  HostProblem problem(family,
                      values_with(family, {{"n", std::int64_t{2048}}, {"stride", std::int64_t{4}}}),
                      7, device(), simulator);
  sim::Observation observation;
  observation.warp = {1, 2, 0};
  simulator.observe(observation);
  const auto executions = problem.launch(*family.find("read_strided"));
  REQUIRE(executions.size() == 1);
  REQUIRE(executions[0].trace);
  CHECK(executions[0].places.empty());
  std::vector<std::uint64_t> offsets;
  for (const sim::TracedAccess& access : executions[0].trace->accesses) {
    CHECK(access.lanes == sim::kAllLanes);
    CHECK(access.width == 4);
    if (access.kind != sim::Access::load) continue;
    const auto begin =
        reinterpret_cast<std::uint64_t>(problem.buffer(3).data());  // buffer `spread`
    CHECK(access.address[31] - access.address[0] == 31 * 4 * 4);
    offsets.push_back(access.address[0] - begin);
  }
  std::sort(offsets.begin(), offsets.end());
  // Values 1024 + 64 + 256 k of block 1 and warp 2, 16 bytes apart.
  CHECK(offsets == std::vector<std::uint64_t>{16 * 1088, 16 * 1344, 16 * 1600, 16 * 1856});
}

}  // namespace
}  // namespace gpuexp::test
