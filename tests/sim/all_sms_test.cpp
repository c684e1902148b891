// Lines that the chases of latency/l2_all_sms visit: different lines on each SM.
#include <set>
#include <vector>

#include "family/registry.hpp"
#include "sim/recorded.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

/// Length of the kernel's unrolled loop: each step is a separate load instruction.
constexpr std::int64_t kUnrolledSteps = 256;
constexpr std::int64_t kLine = 128;

/// Line number by SM and step.
using Chases = std::vector<std::vector<std::uint64_t>>;

Chases chases_of(std::int64_t bytes) {
  const Family& family = *Registry::global().find("latency");
  Problem problem(family, values_with(family, {{"steps", kUnrolledSteps}, {"bytes", bytes}}));
  Chases chases;
  for (std::int64_t block = 0; block < device().sm_count; ++block) {
    sim::Observation observation;
    observation.warp = {block, 0, 0};
    problem.simulator.observe(observation);
    const auto executions = problem.host.launch(*family.find("l2_all_sms"));
    REQUIRE(executions.size() == 1);
    REQUIRE(executions.front().trace);
    std::vector<std::uint64_t>& chase = chases.emplace_back();
    for (const sim::TracedAccess& access : executions.front().trace->accesses) {
      if (access.kind == sim::Access::load && access.width == sizeof(std::uint64_t))
        chase.push_back(access.address[0] / kLine);
    }
    REQUIRE(chase.size() == kUnrolledSteps);
  }
  return chases;
}

TEST_CASE("chases shorter than an SM's share of the lines have no line in common", "[all_sms]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const Chases chases = chases_of(2 * device().sm_count * kUnrolledSteps * kLine);
  std::set<std::uint64_t> lines;
  for (const std::vector<std::uint64_t>& chase : chases)
    lines.insert(chase.begin(), chase.end());
  CHECK(lines.size() == static_cast<std::size_t>(device().sm_count * kUnrolledSteps));
}

TEST_CASE("chases over the same lines visit different ones at each step", "[all_sms]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const Chases chases = chases_of(2 * device().sm_count * kLine);
  std::set<std::uint64_t> all;
  for (std::size_t step = 0; step < kUnrolledSteps; ++step) {
    std::set<std::uint64_t> lines;
    for (const std::vector<std::uint64_t>& chase : chases)
      lines.insert(chase[step]);
    CHECK(lines.size() == chases.size());
    all.merge(lines);
  }
  CHECK(all.size() == 2 * chases.size());
}

}  // namespace
}  // namespace gpuexp::test
