// Kernels with injected faults: the simulator reports each of them, and none in the same kernels
// without the fault.
#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpu/broken_family.hpp"
#include "gpu/chained_checks.hpp"
#include "gpu/faulty_product.hpp"
#include "sim/execution.hpp"
#include "sim/planted_faults.hpp"
#include "simulated/host_problem.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

using sim::Fault;
using sim::FaultKind;

/// File and line ("tests/sim/planted_faults.cu:18") that names the fault.
std::string line_of(const std::string& fault) {
  const std::string file = "tests/sim/planted_faults.cu";
  std::ifstream in(std::string(GPUEXP_SOURCE_DIR) + "/" + file);
  int number = 1;
  for (std::string line; std::getline(in, line); ++number) {
    if (line.ends_with("// fault: " + fault)) return file + ":" + std::to_string(number);
  }
  return "nowhere";
}

std::optional<Fault> fault_of(sim::Simulator& simulator, const Steps& steps) {
  try {
    simulator.run(steps);
  } catch (const Fault& fault) {
    return fault;
  }
  return std::nullopt;
}

bool has_kernels() {
  if (!kernels().empty()) return true;
  skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  return false;
}

/// Input words that the host has written, and poisoned output words.
struct Words {
  std::vector<int> in = std::vector<int>(kPlantedThreads, 3);
  std::vector<int> out = std::vector<int>(kPlantedThreads, -1);
  sim::Simulator simulator{kernels(), 90};

  Words() {
    simulator.memory().add(in.data(), in.size() * sizeof(int), "in");
    simulator.memory().add(out.data(), out.size() * sizeof(int), "out", sim::Contents::poison);
    sim::Checks checks;
    checks.max_instructions = 100'000;
    simulator.set_checks(checks);
  }
};

struct Planted {
  std::string name;
  FaultKind kind;
  std::string words;
  Steps (*steps)(bool is_faulty, const int* in, int* out);
};

template <Steps (*kSteps)(bool, int*)>
Steps without_input(bool is_faulty, const int*, int* out) {
  return kSteps(is_faulty, out);
}

const std::vector<Planted>& planted() {
  static const std::vector<Planted> all{
      {"race_between_warps", FaultKind::race, "are read with no barrier since thread (0, 0, 0)",
       without_input<race_between_warps>},
      {"race_with_readers", FaultKind::race, "are written with no barrier since thread",
       without_input<race_with_readers>},
      {"race_in_warp", FaultKind::race, "with no barrier since thread",
       without_input<race_in_warp>},
      {"race_in_instruction", FaultKind::race, "by one instruction of a warp with different values",
       without_input<race_in_instruction>},
      {"unwritten_shared", FaultKind::unwritten, "before anything wrote them",
       without_input<unwritten_shared>},
      {"copy_not_waited_for", FaultKind::async_copy, "while cp.async of thread",
       copy_not_waited_for},
      {"copy_of_another", FaultKind::race, "with no barrier since thread", copy_of_another},
      {"copy_one_group_early", FaultKind::async_copy, "while cp.async of thread",
       copy_one_group_early},
      {"barrier_in_branch", FaultKind::barrier,
       "16 threads of a warp wait at a barrier that 16 others of the warp",
       without_input<barrier_in_branch>},
      {"named_barrier_missed", FaultKind::barrier,
       "barrier 1 is never reached by all of its threads: 32 of 64 have arrived",
       without_input<named_barrier_missed>},
      {"named_barrier_ring", FaultKind::race, "are written with no barrier since thread (63, 0, 0)",
       without_input<named_barrier_ring>},
      {"unwritten_local", FaultKind::unwritten, "4 bytes of local memory at",
       without_input<unwritten_local>},
      {"endless_loop", FaultKind::endless, "a loop has not ended after 1",
       without_input<endless_loop>},
  };
  return all;
}

TEST_CASE("injected faults are reported with their line, and correct kernels without a fault",
          "[planted]") {
  if (!has_kernels()) return;
  for (const Planted& p : planted()) {
    INFO(p.name);
    Words faulty;
    const auto fault =
        fault_of(faulty.simulator, p.steps(true, faulty.in.data(), faulty.out.data()));
    REQUIRE(fault);
    INFO(fault->what());
    CHECK(fault->kind == p.kind);
    CHECK_THAT(fault->words, contains_text(p.words));
    CHECK(fault->place == line_of(p.name));
    CHECK(fault->kernel == p.name + "_kernel<true>");
    CHECK(fault->block == Extent{0, 0, 0});
    const bool is_of_one_thread = p.kind != FaultKind::barrier && p.kind != FaultKind::endless;
    CHECK(fault->thread.has_value() == is_of_one_thread);
    CHECK(fault->address.has_value() == is_of_one_thread);
    Words right;
    const auto none = fault_of(right.simulator, p.steps(false, right.in.data(), right.out.data()));
    if (none) FAIL(none->what());
    CHECK(std::count(right.out.begin(), right.out.end(), -1) == 0);
  }
}

TEST_CASE("memory checks can be disabled", "[planted]") {
  if (!has_kernels()) return;
  Words words;
  sim::Checks checks;
  checks.memory = false;
  words.simulator.set_checks(checks);
  CHECK(!fault_of(words.simulator, race_between_warps(true, words.out.data())));
  CHECK(!fault_of(words.simulator, unwritten_shared(true, words.out.data())));
}

TEST_CASE("a load of unwritten memory names the buffer", "[planted]") {
  if (!has_kernels()) return;
  Words words;
  const auto fault =
      fault_of(words.simulator, copy_not_waited_for(false, words.out.data(), words.out.data()));
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::unwritten);
  CHECK_THAT(fault->words, contains_text("byte 0 of buffer out of 256 bytes"));
  CHECK(fault->thread == Extent{0, 0, 0});
}

/// Fault of a variant at the given problem; nullopt if it has none.
std::optional<Fault> fault_of(const Family& family, const std::string& id,
                              const std::map<std::string, Value>& problem_of) {
  sim::Simulator simulator(kernels(), 90);
  HostProblem problem(family, values_with(family, problem_of), 7, device(), simulator);
  sim::Checks checks;
  checks.max_instructions = 100'000;
  simulator.set_checks(checks);
  const Variant* const variant = family.find(id);
  REQUIRE(variant);
  try {
    problem.launch(*variant);
  } catch (const Fault& fault) {
    return fault;
  }
  return std::nullopt;
}

TEST_CASE("memory faults of the broken family are reported", "[planted]") {
  if (!has_kernels()) return;
  const Family family = broken_family();
  struct Case {
    const char* variant;
    FaultKind kind;
    const char* words;
  };
  for (const Case& c : {
           Case{"overrun_end", FaultKind::out_of_bounds,
                "they end 4 bytes past the end of buffer y of 4000 bytes"},
           Case{"overrun_begin", FaultKind::out_of_bounds,
                "they begin 4 bytes before buffer y of 4000 bytes"},
           Case{"illegal_address", FaultKind::out_of_bounds, "are outside of every buffer"},
           Case{"misaligned_address", FaultKind::misaligned, "are not aligned"},
           Case{"trap", FaultKind::other, "the kernel traps"},
           Case{"endless", FaultKind::endless, "a loop has not ended after"},
       }) {
    INFO(c.variant);
    const auto fault = fault_of(family, c.variant, {});
    REQUIRE(fault);
    CHECK(fault->kind == c.kind);
    CHECK_THAT(fault->words, contains_text(c.words));
    CHECK_THAT(fault->place, contains_text("tests/gpu/broken_family.cu:"));
  }
  // Wrong results are not memory faults.
  for (const char* variant : {"right", "nan", "bad_tile", "unwritten_tail", "changed_input"}) {
    INFO(variant);
    const auto fault = fault_of(family, variant, {});
    if (fault) FAIL(fault->what());
  }
}

TEST_CASE("slightly wrong products have no memory faults", "[planted]") {
  if (!has_kernels()) return;
  const std::map<std::string, Value> small{
      {"m", std::int64_t{17}}, {"n", std::int64_t{33}}, {"k", std::int64_t{64}}};
  for (const Family& family : {faulty_fp32_product(), faulty_fp16_product()}) {
    for (const Variant& variant : family.variants) {
      INFO(family.id << "/" << variant.id);
      const auto fault = fault_of(family, variant.id, small);
      if (fault) FAIL(fault->what());
    }
  }
}

TEST_CASE("references that use results check each operation against its actual inputs",
          "[planted]") {
  if (!has_kernels()) return;
  const Family family = chained_family();
  const auto executor = make_simulated_executor(device(), kernels(), {});
  executor->set_up(family, values_with(family), 7);
  check_each_operation(*executor, family);
  // The step that makes z from it reports this first.
  CHECK_THROWS_WITH(executor->verify(*family.find("unwritten_first"), Mode::cold),
                    contains_text("read before anything wrote them"));
  check_each_operation(*executor, family);
}

}  // namespace
}  // namespace gpuexp::test
