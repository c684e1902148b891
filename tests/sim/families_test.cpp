// Every variant of every family on small awkward problems: its own machine code, executed on the
// CPU, against the host's loops. Run one family with `-c <family>`.
#include <algorithm>
#include <map>
#include <set>

#include "family/registry.hpp"
#include "sim/execution.hpp"
#include "simulated/simulated_executor.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

/// What has no small problem, and why that is no loss.
const std::map<std::string, std::string>& without_small_problem() {
  static const std::map<std::string, std::string> reasons{
      {"latency/dram", "its chain spans four times L2; its kernel is that of l2"},
      {"latency/dram_all_sms",
       "its chain spans four times L2, too; its kernel is that of l2_all_sms"},
  };
  return reasons;
}

/// What the simulator does not execute, by the reason that it gives.
const std::map<std::string, std::string>& not_simulated() {
  static const std::string launches = "kernels that launch kernels are not executed";
  static const std::map<std::string, std::string> reasons{
      {"bytes_in_flight/texture", "fetches of texture objects (TLD) are not simulated"},
      {"hierarchy/texture", "fetches of texture objects (TLD) are not simulated"},
      {"launch_overhead/device_stream", launches},
      {"launch_overhead/tail_launched", launches},
  };
  return reasons;
}

/// What needs more shared memory per block than some GPU has.
bool has_room(const std::string& name, const DeviceSpec& device) {
  return name != "histogram/half_counters" || device.sm.shared_bytes_per_block >= 128 << 10;
}

/// Larger problems are left out.
constexpr double kMostOperations = 2e8;

void test_problem(const Family& family, const Values& values, const DeviceSpec& device,
                  Executor& executor, std::set<std::string>& executed) {
  constexpr std::uint64_t kInputSeed = 7;
  INFO(describe(family, values));
  const auto problem = family.make_problem(values);
  if (family.unsupported && family.unsupported(problem.get(), device)) return;
  executor.set_up(family, values, kInputSeed);
  for (const Variant& variant : family.variants) {
    INFO(family.id << "/" << variant.id);
    if (!runs_on(device, family, variant, problem.get())) continue;
    if (operation_count(variant.work(problem.get())) > kMostOperations) continue;
    const auto refused = not_simulated().find(family.id + "/" + variant.id);
    if (refused != not_simulated().end()) {
      SimulationLimits limits(device, kernels(), {});
      CHECK(limits.refusal(variant, problem.get()) == refused->second);
      continue;
    }
    executed.insert(variant.id);
    const Verification result = executor.verify(variant, Mode::cold);
    INFO((result.passed() ? "" : failure_of(result)));
    CHECK(result.passed());
  }
}

/// The variants that were executed, of every so many of the problems.
std::set<std::string> test_small_problems(const Family& family, const DeviceSpec& device,
                                          std::size_t every) {
  SimulatedOptions options;
  options.launch_timeout_s = 300;  // the machine may do something else, too
  const auto executor = make_simulated_executor(device, kernels(), options);
  std::set<std::string> executed;
  const std::vector<Values> problems = small_problems(family);
  // Of very many combinations of choices each has some of the extents; 5 divides neither the number
  // of extents nor that of what other numbers alternate between.
  constexpr std::size_t kManyProblems = 500;
  if (problems.size() > kManyProblems) every = std::max<std::size_t>(every, 5);
  for (std::size_t i = 0; i < problems.size(); i += every)
    test_problem(family, with_short_loops(family, problems[i]), device, *executor, executed);
  return executed;
}

/// Each variant has to be executed whose instructions code of this compute capability may have.
void test_on(const Family& family, const DeviceSpec& device, int capability_of_code,
             std::size_t every = 1) {
  const std::set<std::string> executed = test_small_problems(family, device, every);
  for (const Variant& variant : family.variants) {
    const std::string name = family.id + "/" + variant.id;
    INFO(name);
    const bool is_left_out = variant.is_vendor || without_small_problem().count(name) > 0 ||
                             not_simulated().count(name) > 0 ||
                             variant.min_compute_capability > capability_of_code ||
                             !has_room(name, device);
    CHECK(is_left_out != (executed.count(variant.id) > 0));
  }
}

TEST_CASE("what is left out is there", "[names]") {
  for (const auto* left_out : {&without_small_problem(), &not_simulated()}) {
    for (const auto& [name, reason] : *left_out) {
      INFO(name);
      const Family* family = Registry::global().find(name.substr(0, name.find('/')));
      REQUIRE(family);
      CHECK(family->find(name.substr(name.find('/') + 1)) != nullptr);
    }
  }
}

TEST_CASE("every family's machine code computes what its reference does", "[families]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  for (const Family& family : Registry::global().families()) {
    DYNAMIC_SECTION(family.id) {
      test_on(family, device(), device().compute_capability());
    }
  }
}

TEST_CASE("every family's PTX, compiled for another GPU, computes what its reference does",
          "[other_gpu]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  constexpr int kCapabilityOfPtx = 80;
  // Code for them differs in its instructions; extents of every kind are among those of the test
  // above.
  constexpr std::size_t kEvery = 5;
  for (const Family& family : Registry::global().families()) {
    DYNAMIC_SECTION(family.id) {
      for (const char* gpu : {"a100_sxm4_80gb", "b200", "rtx_5090"}) {
        DYNAMIC_SECTION(gpu) {
          test_on(family, device_of(gpu), kCapabilityOfPtx, kEvery);
        }
      }
    }
  }
}

}  // namespace
}  // namespace gpuexp::test
