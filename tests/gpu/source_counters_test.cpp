// Counters per instruction on the CPU, compared with those of the GPU.
#include "gpu/source_counters.hpp"

#include <map>
#include <string_view>

#include <fmt/format.h>

#include "family/registry.hpp"
#include "gpu/both_executors.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {
namespace {

using Place = std::pair<std::string, std::uint32_t>;  ///< kernel, address

struct ExecutedInstruction {
  std::string opcode;
  SourceCounts counts;
};
using Executed = std::map<Place, ExecutedInstruction>;

Executed by_place(const std::vector<sim::KernelExecution>& executions) {
  Executed executed;
  const auto number = [](std::uint64_t count) { return static_cast<double>(count); };
  for (const sim::KernelExecution& execution : executions) {
    const sim::Program& program = *execution.program;
    for (std::size_t i = 0; i < program.listed.size(); ++i) {
      const sim::OpCount& op = execution.counts[i];
      const sim::PlaceCounts& place = execution.places[i];
      const sim::MemoryCounts& memory = place.memory;
      const double shared = number(memory.shared_load_wavefronts + memory.shared_store_wavefronts);
      ExecutedInstruction& here = executed[{program.name, program.listed[i].address}];
      here.opcode = program.listed[i].opcode;
      here.counts += {number(op.warps),
                      number(op.lanes),
                      number(op.predicated_lanes),
                      number(memory.load_sectors + memory.store_sectors),
                      number(place.ideal_load_sectors + place.ideal_store_sectors),
                      shared,
                      shared - number(memory.shared_conflicts)};
    }
  }
  return executed;
}

/// Number of instructions that both counted, and of those with different counts.
struct Differences {
  std::size_t compared = 0;
  std::size_t differ = 0;
  std::string first;
};

/// For these instructions CUPTI's counts differ from the hardware's. For cp.async it counts
/// inactive lanes, and writes to shared memory by another rule. For atomics it counts sectors, and
/// for wgmma wavefronts, that L1 does not count with loads.
bool is_counted_otherwise(std::string_view sass) {
  for (const std::string_view opcode : {"LDGSTS", "ATOM", "RED.", "REDG", "HGMMA"}) {
    if (sass.substr(0, opcode.size()) == opcode) return true;
  }
  return false;
}

bool is_of_addresses(const SourceMetric& metric) {
  return std::string_view(metric.name).find("_mem_") != std::string_view::npos;
}

void test_variant(BothExecutors& both, const Variant& variant) {
  sim::Observation observation;
  observation.places = true;
  both.simulator.observe(observation);
  both.cpu.poison(variant);
  const Executed executed = by_place(both.cpu.launch(variant));
  // CUPTI counts the first kernel after this.
  both.gpu.prepare(variant);
  both.gpu.reset(variant, Mode::warm);
  both.stream.synchronize();
  SourceCounters counters;
  both.gpu.enqueue(variant, Mode::warm);
  both.stream.synchronize();
  std::map<std::string, Differences> found;
  for (const CountedInstruction& i : counters.read()) {
    const ExecutedInstruction& here = executed.at({i.kernel, i.address});
    for (const SourceMetric& metric : source_metrics()) {
      if (is_of_addresses(metric) && is_counted_otherwise(here.opcode)) continue;
      const double gpu = i.counts.*metric.member;
      const double cpu = here.counts.*metric.member;
      Differences& differences = found[metric.name];
      ++differences.compared;
      if (gpu != cpu && differences.differ++ == 0)
        differences.first = fmt::format("{} at {:#x}: {}: GPU {}, CPU {}", i.kernel, i.address,
                                        here.opcode, gpu, cpu);
    }
  }
  CHECK(found.count(source_metrics().front().name) == 1);
  for (const auto& [what, differences] : found) {
    INFO(variant.id << " " << what << ": " << differences.differ << " of " << differences.compared
                    << " differ; " << differences.first);
    CHECK(differences.differ == 0);
  }
}

/// Tests the first small problem, starting in the middle, that both can execute.
void test_first_problem(const Family& family, const Variant& variant) {
  const std::vector<Values> problems = small_problems(family);
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const Values values =
        with_short_loops(family, problems[(i + kExtents.size() - 1) % problems.size()]);
    const auto problem = family.make_problem(values);
    if (family.unsupported && family.unsupported(problem.get(), this_device())) continue;
    BothExecutors both(family, values);
    bool is_taken = false;
    both.for_each_variant([&](const Variant& v) { is_taken = is_taken || &v == &variant; });
    if (is_taken) return test_variant(both, variant);
  }
}

// CUPTI counts one kernel per process: choose it with `-c FAMILY -c VARIANT`.
TEST_CASE("counters per instruction match on CPU and GPU", "[.][source_counters]") {
  if (built_kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  for (const Family& family : Registry::global().families()) {
    if (family.gpus) continue;  // each rank needs its own process
    DYNAMIC_SECTION(family.id) {
      for (const Variant& variant : family.variants) {
        DYNAMIC_SECTION(variant.id) {
          test_first_problem(family, variant);
        }
      }
    }
  }
}

}  // namespace
}  // namespace gpuexp::test
