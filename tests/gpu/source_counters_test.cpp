// What the CPU counts at each instruction, against what the GPU counts there.
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
                      number(op.lanes_on),
                      number(memory.load_sectors + memory.store_sectors),
                      number(place.ideal_load_sectors + place.ideal_store_sectors),
                      shared,
                      shared - number(memory.shared_conflicts)};
    }
  }
  return executed;
}

/// Instructions that both counted, and those of them with another count.
struct Differences {
  std::size_t compared = 0;
  std::size_t differ = 0;
  std::string first;
};

/// What CUPTI says of the addresses of these is not what the hardware does with them: of cp.async
/// it takes lanes that copy nothing for ones that do, and the writes to shared memory by another
/// rule; atomics have sectors, and wgmma wavefronts, that L1 does not count with those of loads.
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
  // The first kernel from here on is the one that is counted.
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

/// Of the family's small problems, the first from the middle on that both can execute.
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

// CUPTI counts one kernel per process: `-c FAMILY -c VARIANT` names it.
TEST_CASE("the CPU counts at each instruction what the GPU counts", "[.][source_counters]") {
  if (built_kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  for (const Family& family : Registry::global().families()) {
    if (family.gpus) continue;  // each of its ranks has a process of its own
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
