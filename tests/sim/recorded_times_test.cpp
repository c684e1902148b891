// Times predicted from machine code, compared with those measured on an H200.
#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "base/output.hpp"
#include "family/counters.hpp"
#include "family/registry.hpp"
#include "model/ceiling_source.hpp"
#include "model/phase_time.hpp"
#include "run/record_of.hpp"
#include "sim/host_memory.hpp"
#include "sim/recorded.hpp"
#include "simulated/code_prediction.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

const CeilingSource& recorded_ceilings() {
  static const CeilingSource source =
      choose_ceiling_source(device(), "h200", std::string(GPUEXP_SOURCE_DIR) + "/configs", {});
  return source;
}

CodeTime time_of(const ResultRecord& row, const Family& family, const Variant& variant) {
  Problem problem(family, values_of(family, row.parameters));
  return predict_from_code(
      launch_to_time(problem.host, variant, problem.simulator, device(), kernels()),
      problem.simulator, *row.mode, device(), recorded_ceilings().ceilings);
}

WarpClocks states_of(const CodeTime& code) {
  WarpClocks states;
  for (const KernelCodeTime& kernel : code.kernels) {
    for (const WarpClocks& place : kernel.places_us)
      states += place;
  }
  return states;
}

double l1_hit_pct(const CodeTime& code) {
  SectorLookups sum;
  for (const KernelCodeTime& kernel : code.kernels) {
    for (const SectorLookups& place : kernel.lookups)
      sum += place;
  }
  return 100 * sum.hits / sum.all;
}

/// Per kernel of a launch: values of counters that depend on caches, or of the part that caches
/// contribute. A launch of very many kernels is recorded as one.
std::vector<std::map<std::string, double>> cache_counters(const std::vector<CacheCounts>& caches,
                                                          bool as_one) {
  LaunchCounts counts;
  for (const SelectedCounter& counter : select_counters({kAllCounters})) {
    for (const std::string& metric : {counter.numerator, counter.denominator}) {
      if (has_cache_part(metric)) counts.metrics.push_back(metric);
    }
  }
  counts.kernels.resize(caches.size(), {"", std::vector<double>(counts.metrics.size())});
  add_cache_counts(counts, caches);
  std::vector<std::map<std::string, double>> values(as_one ? std::min<std::size_t>(1, caches.size())
                                                           : caches.size());
  for (const SelectedCounter& counter : select_counters({kAllCounters})) {
    for (std::size_t k = 0; has_cache_part(counter.numerator) && k < values.size(); ++k) {
      const auto value = as_one ? counted(counter, counts) : counted(counter, counts, k);
      if (value) values[k][counter.name] = *value;
    }
  }
  return values;
}

bool is_part(const std::string& counter) {
  return !cache_metric(select_counters({counter}).front().numerator);
}

using RecordedKernel = std::function<std::optional<double>(const std::string& counter)>;

/// Kernels of a recorded row's launch, in order.
std::vector<RecordedKernel> recorded_kernels(const std::string& key) {
  const auto& table = recording().kernels;
  std::vector<RecordedKernel> found;
  for (const auto& row : table.rows) {
    if (text_of(row[*table.column("key")]) != key) continue;
    found.emplace_back([&](const std::string& counter) {
      const auto place = table.column(kCounterPrefix + counter);
      return place ? number_in(row[*place]) : std::nullopt;
    });
  }
  return found;
}

// Cycles that warps spend in each state per issued instruction, as in Nsight Compute
// (smsp__average_warps_issue_stalled_<state>_per_issue_active).
std::string states_per_issue(const CodeTime& code) {
  const WarpClocks states = states_of(code);
  std::string text;
  for (std::size_t i = 1; i < kWarpStates; ++i)
    text += fmt::format(",{:.4g}", states.in[i] / states[WarpState::selected]);
  return text;
}

/// A recorded row, predicted from code.
struct Predicted {
  const ResultRecord* row = nullptr;
  CodeTime code;
};

Predicted predicted_row(const std::string& part) {
  const auto& rows = recording().table.rows;
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const ResultRecord& r) {
    return r.key.find(part) != std::string::npos;
  });
  INFO(part);
  REQUIRE(row != rows.end());
  const Family& family = *Registry::global().find(row->family);
  return {&*row, time_of(*row, family, *family.find(row->variant))};
}

/// The state, of those that an H200 counts, in which warps spend the most cycles.
std::string largest_stall(const ResultRecord& row, const CodeTime& code, bool is_recorded) {
  constexpr std::pair<WarpState, const char*> kCounted[] = {
      {WarpState::long_scoreboard, "stalled_long_scoreboard"},
      {WarpState::short_scoreboard, "stalled_short_scoreboard"},
      {WarpState::barrier, "stalled_barrier"},
      {WarpState::math_pipe_throttle, "stalled_math_pipe"},
      {WarpState::lg_throttle, "stalled_lg_throttle"},
      {WarpState::mio_throttle, "stalled_mio_throttle"}};
  double most = -1;
  std::string name;
  for (const auto& [state, counter] : kCounted) {
    const double value =
        is_recorded ? number_in(row.counters.field(counter)).value_or(0) : states_of(code)[state];
    if (value <= most) continue;
    most = value;
    name = name_of(state);
  }
  return name;
}

TEST_CASE("times predicted from machine code match those of an H200", "[recorded_times]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  // Bound by the data stage, issue, shared memory, DRAM, divergent lanes.
  const std::pair<const char*, double> near[] = {
      {"ladder/matmul/naive/m=1024,n=1024,k=1024/warm", 0.02},
      // It also stalls on instruction fetches, which the model does not include.
      {"ladder/matmul/async_stages/m=2048,n=2048,k=2048/warm", 0.1},
      {"ladder_bf16/matmul_tensor/mma_cp_async/m=4096,n=4096,k=4096,", 0.06},
      {"ladder/matmul/coarsen_1d/m=1024,n=1024,k=1024/warm", 0.1},
      {"coalescing.stride/coalescing/read_strided/n=67108864,stride=2,offset=1/cold", 0.03},
      // It takes 23 us, and floors of processes differ by one.
      {"divergence/split_in_warp/n=4194304,fraction=0.03125,cost=32/", 0.1},
  };
  for (const auto& [part, limit] : near) {
    const Predicted p = predicted_row(part);
    INFO(p.row->key << ": " << p.code.total_us << " of " << *p.row->time_median_us << " us");
    CHECK(std::abs(std::log(p.code.total_us / *p.row->time_median_us)) <= limit);
  }
}

TEST_CASE("predictions stored in the docs are those of this model", "[recorded_times]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  std::istringstream file(read_text(GPUEXP_SOURCE_DIR "/docs/predictions/current/h200.csv.zst"));
  std::map<std::string, double> kept;
  for (std::string line; std::getline(file, line);) {
    // Keys with commas are quoted.
    const bool is_quoted = line.front() == '"';
    const std::size_t end = line.find(is_quoted ? "\"," : ",", 1);
    const std::string time = line.substr(end + (is_quoted ? 2 : 1));
    if (std::isdigit(time.front()) != 0)
      kept[line.substr(is_quoted, end - is_quoted)] = std::stod(time);
  }
  CHECK(kept.size() > 500);
  for (const char* part :
       {"ladder/matmul/naive/m=1024,n=1024,k=1024/warm",
        "copy_width/vector_width/copy_4b/n=67108864",
        "gather_from_cache/gather/gather_random/n=524288", "ladder/matmul/coarsen_2d/m=1024,",
        "write_stride/partial_write/write_whole_sectors/n=67108864,stride=4",
        "two_way/divergence/split_in_warp/n=4194304,fraction=0.5,cost=64"}) {
    const Predicted p = predicted_row(part);
    INFO(p.row->key);
    REQUIRE(kept.count(p.row->key) > 0);
    CHECK(p.code.total_us == Approx(kept.at(p.row->key)).epsilon(1e-3));
  }
}

TEST_CASE("a predicted time does not depend on the host addresses of buffers", "[recorded_times]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  // Addresses of a warp's lanes are more than 2 MiB apart, or random.
  for (const char* part : {"row_pitch/matmul/naive/m=1024,n=1024,k=1020/warm",
                           "gather_from_cache/gather/gather_random/n=524288"}) {
    const Predicted once = predicted_row(part);
    INFO(once.row->key);
    for (const std::size_t mib : {1, 3, 7, 30}) {
      const HostMemory elsewhere(mib << 20);
      CHECK(predicted_row(part).code.total_us == once.code.total_us);
    }
  }
}

/// Variants without a predicted time, and the reason.
const std::map<std::string, std::string>& without_time() {
  static const std::string bus = "accesses of kernels to host memory are not modelled";
  static const std::string pageable = "copies of pageable memory are not modelled";
  static const std::string two_kernels =
      "the sharing of L2 between concurrent kernels is not modelled";
  static const std::string places = "where its blocks store is known only at run time";
  static const std::string waiting = "waits between blocks are not modelled";
  static const std::string programmatic =
      "the overlap of kernels by programmatic dependent launch is not modelled";
  static const std::string launches = "kernels that launch kernels are not executed";
  static const std::string loading = "the time to load a kernel is not modelled";
  static const std::string through_host =
      "copies between GPUs through host memory are not modelled";
  static const std::map<std::string, std::string> reasons{
      {"compaction/tile_aggregated", places},
      {"compaction/three_pass", places},
      {"compaction/look_back", waiting},
      {"compaction/look_back_staged", waiting},
      {"compaction/look_back_large", waiting},
      {"scan/chained", waiting},
      {"scan/look_back", waiting},
      {"scan/look_back_large", waiting},
      {"scan/look_back_wide", waiting},
      {"grid_sum/cooperative", waiting},
      {"grid_sum/programmatic", programmatic},
      {"grid_sum/tile_last_block", "which blocks sum the partial sums is decided at run time"},
      {"peer_copy/through_host", through_host},
      {"host_transfer/mapped_in", bus},
      {"host_transfer/managed_in", bus},
      {"host_transfer/prefetched_in", bus},
      {"host_transfer/advised_in", bus},
      {"host_transfer/reread_in", bus},
      {"host_transfer/mostly_read_in", bus},
      {"host_transfer/mapped_out", bus},
      {"host_transfer/managed_out", bus},
      {"host_transfer/prefetched_out", bus},
      {"host_transfer/advised_out", bus},
      {"host_transfer/mapped_both", bus},
      {"host_transfer/pageable_in", pageable},
      {"host_transfer/pageable_out", pageable},
      {"host_transfer/pageable_both", pageable},
      {"l2_persistence/side_by_side", two_kernels},
      {"l2_persistence/window", two_kernels},
      {"l2_persistence/evict_first", two_kernels},
      {"l2_persistence/evict_last", two_kernels},
      {"l2_persistence/evict_last_set_aside", two_kernels},
      {"launch_overhead/programmatic", programmatic},
      {"launch_overhead/queued_programmatic", programmatic},
      {"launch_overhead/device_stream", launches},
      {"launch_overhead/tail_launched", launches},
      {"launch_overhead/first_launch", loading},
      {"launch_overhead/from_first", loading},
      {"training_block/fused_first", loading},
      {"training_step/fused_first", loading},
      {"streams/pageable", pageable},
      {"launch_overhead/grid_barrier", waiting},
      {"launch_overhead/updated_graph", "the host's time to update a graph is not measured"},
      {"launch_overhead/work_queue", "the assignment of tiles to blocks is decided at run time"},
      {"loss_scaling/fp16_dynamic_scale",
       "the work of its kernels depends on the results of earlier kernels"},
      {"bytes_in_flight/texture", "fetches of texture objects (TLD) are not simulated"},
      {"hierarchy/texture", "fetches of texture objects (TLD) are not simulated"},
      {"constant_memory/uniform_index", "the levels of the constant cache are not modelled"},
      {"constant_memory/index_per_lane", "the levels of the constant cache are not modelled"},
  };
  return reasons;
}

TEST_CASE("every variant has a predicted time, except those listed", "[recorded_times]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  std::map<std::string, std::string> found;
  for (const Family& family : Registry::global().families()) {
    for (const Values& small : small_problems(family)) {
      const Values values = with_short_loops(family, small);
      const auto problem = family.make_problem(values);
      if (family.unsupported && family.unsupported(problem.get(), device())) continue;
      for (const Variant& variant : family.variants) {
        const std::string name = family.id + "/" + variant.id;
        if (variant.is_vendor || found.count(name) > 0) continue;
        if (!runs_on(device(), family, variant, problem.get())) continue;
        if (variant.phases) {
          const std::vector<Phase> phases = variant.phases(problem.get(), device());
          const PhaseTime time =
              phase_time(phases, Mode::cold, device(), recorded_ceilings().ceilings);
          found[name] = time.refusal;
          INFO(name);
          for (const Phase& phase : phases)
            CHECK((phase.kernel_of.empty() || family.find(phase.kernel_of)));
          if (time.refusal.empty()) CHECK(time.total_us > 0);
          continue;
        }
        Problem host(family, values);
        const CodeTime time = predict_from_code(
            launch_to_time(host.host, variant, host.simulator, device(), kernels()), host.simulator,
            Mode::cold, device(), recorded_ceilings().ceilings);
        found[name] = time.refusal;
        INFO(name);
        if (time.refusal.empty())
          CHECK(time.total_us > *recorded_ceilings().ceilings.floor_cold_us);
      }
    }
  }
  CHECK(found.size() > 60);
  for (const auto& [name, reason] : found) {
    INFO(name);
    const auto listed = without_time().find(name);
    CHECK(reason == (listed == without_time().end() ? "" : listed->second));
  }
  for (const auto& [name, reason] : without_time()) {
    INFO(name);
    CHECK(found.count(name) > 0);
  }
}

TEST_CASE("predicted stall reasons match those of an H200", "[recorded_times]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  for (const char* part :
       {"ladder/matmul/naive/m=1024,n=1024,k=1024/warm",
        "ladder/matmul/smem_tile/m=1024,n=1024,k=1024/warm",
        "ladder/matmul/vectorized/m=1024,n=1024,k=1024/warm",
        "coalescing.stride/coalescing/read_strided/n=67108864,stride=2,offset=1/cold"}) {
    const Predicted p = predicted_row(part);
    INFO(p.row->key);
    CHECK(largest_stall(*p.row, p.code, false) == largest_stall(*p.row, p.code, true));
  }
}

// Writes a line per recorded row, for scripts/prediction_errors.py.
TEST_CASE("times of all recorded rows, in a file", "[.times]") {
  std::ofstream csv(setting("GPUEXP_TIMES", "times.csv"));
  const std::regex which(setting("GPUEXP_CELLS", "."));
  csv << "key,predicted_time_us,why_not,seconds,l1_hit_pct";
  for (std::size_t i = 1; i < kWarpStates; ++i)
    csv << ',' << name_of(static_cast<WarpState>(i));
  csv << '\n';
  for (const ResultRecord& row : recording().table.rows) {
    const Family* const family = Registry::global().find(row.family);
    if (!family || row.is_vendor() || !row.time_median_us || !row.mode) continue;
    if (!std::regex_search(row.key, which)) continue;
    const auto begin = std::chrono::steady_clock::now();
    const CodeTime code = time_of(row, *family, *family->find(row.variant));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    csv << fmt::format("\"{}\",{},\"{}\",{:.2f},{:.4g}{}\n", row.key,
                       code.refusal.empty() ? fmt::format("{:.6g}", code.total_us) : "",
                       code.refusal, took.count(), l1_hit_pct(code),
                       code.refusal.empty() ? states_per_issue(code) : "");
    csv.flush();
  }
}

// Writes the second input of docs/studies/simulated_counters/simulated_counters.py, next to that of
// recorded_counters_test.
TEST_CASE("cache counters of all recorded rows, in a file", "[.caches]") {
  std::ofstream csv(setting("GPUEXP_SIMULATED_COUNTERS", "simulated_caches.csv"));
  const std::regex which(setting("GPUEXP_CELLS", "."));
  csv << "key,kernel,counter,simulated,recorded\n";
  for (const ResultRecord& row : recording().table.rows) {
    const Family* const family = Registry::global().find(row.family);
    if (!family || row.is_vendor() || !row.mode) continue;
    if (!std::regex_search(row.key, which)) continue;
    const auto recorded = recorded_kernels(row.key);
    const CodeTime code = time_of(row, *family, *family->find(row.variant));
    const auto simulated = cache_counters(code.caches, recorded.size() == 1);
    if (std::min(simulated.size(), kMaxKernelRows) != recorded.size()) continue;
    std::set<std::pair<double, double>> seen;  // different values among hundreds of steps
    for (std::size_t k = 0; k < recorded.size(); ++k) {
      if (!seen.insert({code.caches[k].l1_hits, code.caches[k].l2_sectors}).second) continue;
      for (const auto& [counter, value] : simulated[k]) {
        if (const auto counted = recorded[k](counter))
          csv << fmt::format("\"{}\",{},{}{},{},{}\n", row.key, k, counter,
                             is_part(counter) ? " (part)" : "", value, *counted);
      }
    }
    csv.flush();
  }
}

}  // namespace
}  // namespace gpuexp::test
