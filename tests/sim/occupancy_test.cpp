// Cases that small problems of the family occupancy lack: full blocks, whose threads hold more
// values than they have registers.
#include <map>
#include <string>

#include "family/registry.hpp"
#include "sim/recorded.hpp"
#include "simulated/simulated_executor.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

constexpr std::int64_t kElements = 3 * 80 * 256 + 5;  // three full blocks and a tail
constexpr std::int64_t kSteps = 3;

const Family& family() {
  return *Registry::global().find("occupancy");
}

Values values_of_steps(std::int64_t steps) {
  return values_with(family(), {{"n", kElements}, {"steps", steps}});
}

/// Counts per variant that supports the problem.
std::map<std::string, sim::MemoryCounts> counts_of_steps(std::int64_t steps) {
  std::map<std::string, sim::MemoryCounts> counts;
  Problem problem(family(), values_of_steps(steps));
  for (const Variant& variant : family().variants) {
    if (!runs_on(device(), family(), variant, problem.host.problem())) continue;
    const auto executions = problem.host.launch(variant);
    REQUIRE(executions.size() == 1);
    counts[variant.id] = executions.front().memory;
  }
  return counts;
}

TEST_CASE("full blocks match the reference, with and without spills", "[occupancy]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const auto executor = make_simulated_executor(device(), kernels(), {});
  for (const std::int64_t steps : {std::int64_t{1}, kSteps}) {
    const Values values = values_of_steps(steps);
    const auto problem = family().make_problem(values);
    executor->set_up(family(), values, 7);
    for (const Variant& variant : family().variants) {
      INFO(variant.id);
      REQUIRE(runs_on(device(), family(), variant, problem.get()));
      const Verification result = executor->verify(variant, Mode::cold);
      INFO((result.passed() ? "" : failure_of(result)));
      CHECK(result.passed());
    }
  }
}

TEST_CASE("each step loads and stores spilled registers, four sectors per request", "[occupancy]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  auto few = counts_of_steps(kSteps);
  auto more = counts_of_steps(2 * kSteps);
  CHECK(few["held_natural"].local_load_requests == 0);
  CHECK(few["held_natural"].local_store_requests == 0);
  for (const char* variant : {"held_capped_64", "held_capped_64_shared", "held_capped_32"}) {
    INFO(variant);
    const sim::MemoryCounts& counted = more[variant];
    CHECK(counted.local_load_requests > few[variant].local_load_requests);
    CHECK(counted.local_store_requests > few[variant].local_store_requests);
    CHECK(counted.local_load_sectors >= 4 * counted.local_load_requests);
    CHECK(counted.other_accesses == 0);  // all lanes access one word
    CHECK(counted.load_requests == few["held_natural"].load_requests);
  }
  CHECK(more["held_capped_32"].local_load_requests > more["held_capped_64"].local_load_requests);
  CHECK(more["held_capped_64_shared"].local_load_requests <
        more["held_capped_64"].local_load_requests);
  CHECK(more["held_capped_64_shared"].shared_load_wavefronts > 0);
}

}  // namespace
}  // namespace gpuexp::test
