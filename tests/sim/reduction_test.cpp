// Reductions and scans whose parts come from many blocks: small problems of every family have one
// or two.
#include "sim/execution.hpp"
#include "simulated/simulated_executor.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

constexpr std::uint64_t kSeed = 7;

TEST_CASE("reductions and scans of many blocks are right", "[reduction]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const Family& family =
      family_of(GENERATE("reduction", "grid_sum", "argmax", "welford", "scan", "compaction"));
  SimulatedOptions options;
  options.launch_timeout_s = 300;  // the machine may do something else, too
  const auto executor = make_simulated_executor(device(), kernels(), options);
  // Both leave tails; of the larger, threads of the grid have several vectors.
  const std::int64_t n = GENERATE(16387, 4'300'001);
  for (Values values : choice_combinations(family)) {
    values.front() = n;
    INFO(describe(family, values));
    const auto problem = family.make_problem(values);
    executor->set_up(family, values, kSeed);
    for (const Variant& variant : family.variants) {
      if (!runs_on(device(), family, variant, problem.get())) continue;
      INFO(family.id << "/" << variant.id);
      const Verification result = executor->verify(variant, Mode::cold);
      INFO((result.passed() ? "" : failure_of(result)));
      CHECK(result.passed());
    }
  }
}

}  // namespace
}  // namespace gpuexp::test
