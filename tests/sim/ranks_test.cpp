// Kernels of problems that span GPUs: their ranks run concurrently and wait for each other.
#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include <sched.h>

#include "family/registry.hpp"
#include "sim/execution.hpp"
#include "simulated/host_problem.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

/// Launches every variant that supports the problem with a late first rank and with a late last
/// rank; twice each if there are at most three ranks. Signals and inboxes are not reset between
/// launches.
void check_ranks(const Family& family, const Values& values, int ranks, sim::Simulator& simulator) {
  HostProblem problem(family, values, 7, device(), simulator);
  for (const Variant& variant : family.variants) {
    if (variant.is_vendor || !runs_on(device(), family, variant, problem.problem())) continue;
    const int launches = ranks <= 3 ? 2 : 1;
    for (int launch = 0; launch < 2 * launches; ++launch) {
      const int late = launch < launches ? 0 : ranks - 1;
      problem.before_launch = [late](int rank) {
        if (rank == late) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      };
      problem.poison(variant);
      INFO(describe(family, values)
           << ", " << variant.id << ", launch " << launch << ", rank " << late << " late");
      problem.launch(variant);
      const Verification verified = problem.check(variant);
      INFO((verified.passed() ? "" : failure_of(verified)));
      CHECK(verified.passed());
      CHECK(verified.elements > 0);
    }
  }
}

/// With the second sizes, some ranks have one block more than others. With the third ones, for
/// products, some ranks' parts are empty.
std::vector<std::vector<std::int64_t>> sizes_of(const Family& family) {
  const auto extents = std::count_if(family.parameters.begin(), family.parameters.end(),
                                     [](const Parameter& p) { return p.is_extent; });
  if (extents == 1) return {{1536}, {8195}};
  return {{264, 136, 72}, {65, 130, 75}, {24, 9, 40}};
}

TEST_CASE("waiting ranks compute correct results, whichever rank is late", "[ranks]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  int families = 0;
  sim::Simulator simulator(kernels(), device().compute_capability());  // decodes each kernel once
  simulator.uses_host_loops = true;
  for (const Family& family : Registry::global().families()) {
    if (!family.gpus) continue;
    ++families;
    for (const std::int64_t gpus : {2, 3, 4, 8}) {
      for (const std::vector<std::int64_t>& extents : sizes_of(family)) {
        for (Values values : choice_combinations(family)) {
          std::size_t place = 0;
          for (std::size_t i = 0; i < values.size(); ++i) {
            if (family.parameters[i].is_extent) values[i] = extents.at(place++);
            if (family.parameters[i].name == "gpus") values[i] = gpus;
            // A pipeline gets a first, a middle and a last micro-batch.
            if (family.parameters[i].name == "batches") values[i] = std::int64_t{3};
          }
          const auto problem = family.make_problem(values);
          if (family.unsupported && family.unsupported(problem.get(), device())) continue;
          const auto runs = [&](const Variant& variant) {
            return !variant.is_vendor && runs_on(device(), family, variant, problem.get());
          };
          if (std::none_of(family.variants.begin(), family.variants.end(), runs)) continue;
          check_ranks(family, values, static_cast<int>(gpus), simulator);
        }
      }
    }
  }
  CHECK(families > 0);
}

/// Pins this thread, and threads that it starts, to one core.
class OnOneCore {
 public:
  OnOneCore() {
    REQUIRE(sched_getaffinity(0, sizeof before_, &before_) == 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  }
  ~OnOneCore() { sched_setaffinity(0, sizeof before_, &before_); }
  OnOneCore(const OnOneCore&) = delete;
  OnOneCore& operator=(const OnOneCore&) = delete;

 private:
  cpu_set_t before_;
};

// Each step of the ping-pong waits for the other rank. On one core, ranks must yield instead of
// spinning for a time slice.
TEST_CASE("ranks alternate on one core of the host", "[ranks]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const OnOneCore here;
  const Family& family = *Registry::global().find("peer_latency");
  sim::Simulator simulator(kernels(), device().compute_capability());
  HostProblem problem(family, values_with(family, {{"steps", std::int64_t{8195}}}), 7, device(),
                      simulator);
  const Variant& variant = *family.find("signals");
  problem.poison(variant);
  CHECK_NOTHROW(problem.launch(variant));
  CHECK(problem.check(variant).passed());
}

// Data and launch number are stored in one access. If it were torn, the number could arrive first.
TEST_CASE("16-byte stores are visible to other ranks as a whole", "[ranks]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const Family& family = *Registry::global().find("collectives");
  const Values values =
      values_with(family, {{"n", std::int64_t{65536}}, {"gpus", std::int64_t{3}}});
  sim::Simulator simulator(kernels(), device().compute_capability());
  HostProblem problem(family, values, 7, device(), simulator);
  const Variant& variant = *family.find("low_latency");
  for (int i = 0; i < 4; ++i) {
    problem.poison(variant);
    problem.launch(variant);
    const Verification result = problem.check(variant);
    INFO((result.passed() ? "" : failure_of(result)));
    CHECK(result.passed());
  }
}

// With few SMs, each block has several tiles. From 15 tiles, or 25 if GPUs split k, two blocks have
// 7 or 12 each and halve one. Four blocks have 3 each, where one pair halves two tiles and the
// other pair one; or 6 each, where one pair halves one.
TEST_CASE("persistent blocks send each of their tiles", "[ranks]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const Family& family = *Registry::global().find("tensor_parallel");
  const Variant& variant = *family.find("one_kernel_paced");
  DeviceSpec few_sms = device();
  for (const auto& [sms, split] : std::vector<std::pair<int, std::string>>{
           {2, "rows"}, {4, "rows"}, {4, "columns"}, {2, "k"}, {4, "k"}}) {
    few_sms.sm_count = sms;
    const Values values = values_with(family, {{"m", std::int64_t{520}},
                                               {"n", std::int64_t{1032}},
                                               {"k", std::int64_t{136}},
                                               {"split", split},
                                               {"gpus", std::int64_t{2}}});
    sim::Simulator simulator(kernels(), few_sms.compute_capability());
    HostProblem problem(family, values, 7, few_sms, simulator);
    if (!runs_on(few_sms, family, variant, problem.problem()))
      return skip(Tier::machine_code, "built without code for compute capability 9.0");
    problem.poison(variant);
    problem.launch(variant);
    const Verification result = problem.check(variant);
    INFO(split << ", " << sms << " SMs" << (result.passed() ? "" : ": " + failure_of(result)));
    CHECK(result.passed());
  }
}

TEST_CASE("a fault of one rank is reported, and a wrong buffer names its rank", "[ranks]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const Family& family = *Registry::global().find("peer_copy");
  const Values values = values_with(family, {{"n", std::int64_t{1000}}});
  sim::Simulator simulator(kernels(), device().compute_capability());
  HostProblem problem(family, values, 7, device(), simulator);
  problem.before_launch = [](int rank) {
    if (rank == 1) throw std::runtime_error("rank 1 fails");
  };
  CHECK_THROWS_WITH(problem.launch(*family.find("loads")), "rank 1 fails");
  problem.before_launch = {};
  // Unwritten output fails at the rank that owns it.
  problem.poison(*family.find("loads"));
  const Verification unwritten = problem.check(*family.find("loads"));
  CHECK(!unwritten.passed());
  REQUIRE(!unwritten.first_wrong.empty());
  CHECK(unwritten.first_wrong.front().buffer == "out of rank 0");
}

}  // namespace
}  // namespace gpuexp::test
