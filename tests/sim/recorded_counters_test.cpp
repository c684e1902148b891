// Simulated counters, compared with those that an H200 recorded for the same kernels and inputs
// (docs/results/h200/all.json.zst).
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <set>

#include <fmt/format.h>

#include "family/counters.hpp"
#include "family/registry.hpp"
#include "run/record_of.hpp"
#include "sim/execution.hpp"
#include "sim/kernel_counters.hpp"
#include "sim/recorded.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {
namespace {

std::optional<double> number(const std::vector<Field>& row, std::string_view column) {
  const auto place = recording().kernels.column(column);
  return place ? number_in(row[*place]) : std::nullopt;
}

/// A recorded row, and the kernels of its launch in order.
struct Cell {
  const ResultRecord* row = nullptr;
  const Family* family = nullptr;
  const Variant* variant = nullptr;
  Values values;
  std::vector<const std::vector<Field>*> kernels;
  double lane_instructions = 0;
};

/// Each variant on each problem once: instruction counts do not depend on the mode.
const std::vector<Cell>& cells() {
  static const std::vector<Cell> all = [] {
    std::map<std::string, std::vector<const std::vector<Field>*>> kernels_of;
    for (const auto& row : recording().kernels.rows)
      kernels_of[text_of(row[*recording().kernels.column("key")])].push_back(&row);
    std::vector<Cell> found;
    std::set<std::string> seen;
    for (const ResultRecord& row : recording().table.rows) {
      Cell cell{&row, Registry::global().find(row.family), nullptr, {}, kernels_of[row.key], 0};
      if (!cell.family || row.is_vendor() || cell.kernels.empty()) continue;
      cell.variant = cell.family->find(row.variant);
      cell.values = values_of(*cell.family, row.parameters);
      std::string problem = row.family + "/" + row.variant;
      for (const Value& value : cell.values)
        problem += "," + to_string(value);
      if (!seen.insert(problem).second) continue;
      for (const auto* kernel : cell.kernels)
        cell.lane_instructions +=
            number(*kernel, "counter.warp_instructions").value_or(0) *
            number(*kernel, "counter.active_lanes_per_instruction").value_or(0);
      found.push_back(std::move(cell));
    }
    return found;
  }();
  return all;
}

struct Comparison {
  std::string counter;
  double simulated;
  double recorded;

  /// Relative to the recorded value; 1 if only the simulated one is not 0.
  double error() const {
    if (simulated == recorded) return 0;
    return recorded == 0 ? 1 : std::abs(simulated / recorded - 1);
  }
};

using Executions = std::vector<sim::KernelExecution>;

/// Counters that the simulator supports, for kernels of a launch that were recorded together.
std::vector<Comparison> compare(const Executions& executions, const std::vector<Field>& recorded) {
  LaunchCounts counts;
  counts.metrics.assign(sim::metric_names().begin(), sim::metric_names().end());
  for (const sim::KernelExecution& execution : executions) {
    const sim::MetricValues values = execution.metrics();
    counts.kernels.emplace_back().values.assign(values.begin(), values.end());
  }
  std::vector<Comparison> comparisons;
  for (const SelectedCounter& counter : select_counters({kAllCounters})) {
    const auto simulated = counted(counter, counts);
    const auto value = number(recorded, kCounterPrefix + counter.name);
    if (simulated && value) comparisons.push_back({counter.name, *simulated, *value});
  }
  return comparisons;
}

/// Allowed relative difference. Counters that depend only on instructions and addresses must be
/// equal. The load-store unit repeats some shared memory wavefronts.
std::optional<double> allowed(const Cell& cell, const std::string& counter) {
  if (counter == "shared_load_wavefronts" || counter == "shared_bank_conflicts") return 0.01;
  if (counter == "shared_store_wavefronts") return 0.06;
  // The rule for cp.async is approximate.
  if (counter == "l1_tag_wavefronts" && cell.family->id != "wave_quantization") return 0.15;
  if (counter == "l1_tag_wavefronts" || counter == "l1_data_wavefronts") return std::nullopt;
  return 0;
}

/// Samples blocks of problems that take long to execute.
std::optional<sim::BlockSampling> sampling_of(const Cell& cell) {
  constexpr double kMaxWholeInstructions = 3e8;
  if (cell.lane_instructions <= kMaxWholeInstructions || cell.row->kernel_launches > 1)
    return std::nullopt;
  return sim::BlockSampling{};
}

/// Calls each(cell, recorded kernel, executions) in order, so variants of one problem share its
/// inputs. A launch of very many kernels is recorded as one.
template <class Each>
void execute(const std::vector<const Cell*>& wanted, const Each& each) {
  std::unique_ptr<Problem> problem;
  const Cell* before = nullptr;
  for (const Cell* cell : wanted) {
    INFO(cell->row->key);
    if (!before || before->family != cell->family || before->values != cell->values) {
      problem.reset();
      problem = std::make_unique<Problem>(*cell->family, cell->values);
      before = cell;
    }
    problem->host.set_sampling(sampling_of(*cell));
    const Executions executions = problem->host.launch(*cell->variant);
    if (cell->kernels.size() == 1) {
      each(*cell, 0, executions);
      continue;
    }
    REQUIRE(std::min(executions.size(), kMaxKernelRows) == cell->kernels.size());
    for (std::size_t k = 0; k < cell->kernels.size(); ++k)
      each(*cell, k, Executions{executions[k]});
  }
}

/// A few small problems, one per kind of kernel.
constexpr const char* kSmall[] = {
    "/gather/gather_sequential/n=65536/",
    "/gather/gather_strided/n=131072/",
    "/gather/gather_random/n=262144/",
    "/divergence/split_in_warp/n=4194304,fraction=0.03125,cost=32/",
    "/divergence/uniform/n=4194304,fraction=0.03125,cost=32/",
    "/loss_scaling/fp16_unscaled/n=16777216,centre_log2=-24,",
    "/wave_quantization/fixed_tile/n=1024,",
    "fusion.sizes/fusion/fused/n=1000000,",
};

std::vector<const Cell*> small_cells() {
  std::vector<const Cell*> found;
  for (const char* part : kSmall) {
    const auto cell = std::find_if(cells().begin(), cells().end(), [&](const Cell& c) {
      return c.row->key.find(part) != std::string::npos;
    });
    INFO(part);
    REQUIRE(cell != cells().end());
    found.push_back(&*cell);
  }
  return found;
}

TEST_CASE("simulated counters match those of an H200", "[counters]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  std::size_t held = 0;
  execute(small_cells(), [&](const Cell& cell, std::size_t k, const Executions& executions) {
    for (const Comparison& c : compare(executions, *cell.kernels[k])) {
      const auto limit = allowed(cell, c.counter);
      if (!limit) continue;
      INFO(c.counter << ": simulated " << c.simulated << ", recorded " << c.recorded);
      CHECK(c.error() <= *limit);
      ++held;
    }
  });
  CHECK(held > 100);
}

TEST_CASE("counters of another kernel differ from the recorded ones", "[counters]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const auto small = small_cells();
  const Cell& sequential = *small.at(0);
  const Cell& strided = *small.at(1);
  execute({&sequential}, [&](const Cell&, std::size_t, const Executions& executions) {
    for (const Comparison& c : compare(executions, *strided.kernels.front())) {
      INFO(c.counter);
      if (c.counter == "warp_instructions" || c.counter == "global_load_sectors" ||
          c.counter == "l1_tag_wavefronts")
        CHECK(c.error() > 0.1);
    }
  });
}

// Writes the input of docs/studies/simulated_counters/simulated_counters.py.
TEST_CASE("all cells that are not too large, in a file", "[.recording]") {
  std::ofstream csv(setting("GPUEXP_SIMULATED_COUNTERS", "simulated_counters.csv"));
  const double most = std::stod(setting("GPUEXP_MOST_LANE_INSTRUCTIONS", "3e9"));
  const std::regex which(setting("GPUEXP_CELLS", "."));
  std::vector<const Cell*> wanted;
  for (const Cell& cell : cells()) {
    if ((cell.lane_instructions <= most || sampling_of(cell)) &&
        std::regex_search(cell.row->key, which))
      wanted.push_back(&cell);
  }
  csv << "key,kernel,counter,simulated,recorded\n";
  execute(wanted, [&](const Cell& cell, std::size_t k, const Executions& executions) {
    for (const Comparison& c : compare(executions, *cell.kernels[k]))
      csv << fmt::format("\"{}\",{},{},{},{}\n", cell.row->key, k, c.counter, c.simulated,
                         c.recorded);
    csv.flush();
  });
}

}  // namespace
}  // namespace gpuexp::test
