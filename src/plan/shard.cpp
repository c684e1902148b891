#include "plan/shard.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "plan/plan.hpp"

namespace gpuexp {

namespace {

/// Nominal milliseconds of a cell on a generic GPU. RunEstimate is more accurate but depends on
/// device, earlier measurements, free memory and installed libraries, which differ between
/// machines, and all machines must compute the same division. Integers make the sums exact.
std::int64_t nominal_ms(const Experiment& experiment, const Variant& variant, const void* problem) {
  constexpr double kBytesPerSecond = 1e12;
  constexpr double kOperationsPerSecond = 1e13;
  constexpr double kBusBytesPerSecond = 2e10;
  constexpr double kPerLaunchSeconds = 1e-4;
  constexpr double kPerCellSeconds = 0.01;
  const Work work = variant.work(problem);
  const double launch_s = kPerLaunchSeconds +
                          (work.bytes_read + work.bytes_written) / kBytesPerSecond +
                          operation_count(work) / kOperationsPerSecond +
                          (work.to_device + work.to_host) / kBusBytesPerSecond;
  const MeasureSettings& m = experiment.measure;
  const double sampling_s =
      std::clamp(launch_s * m.min_samples, std::min(m.min_seconds, m.max_seconds), m.max_seconds);
  const double cell_s = kPerCellSeconds + m.warm_up_s(launch_s) + sampling_s;
  // A config may specify any number of seconds.
  constexpr double kMaxMs = 1e12;
  const double ms = 1e3 * cell_s;
  return std::llround(ms < kMaxMs ? ms : kMaxMs);
}

std::int64_t nominal_ms(const Plan& plan, const Group& group) {
  const Experiment& experiment = plan.experiment(group);
  std::int64_t ms = std::llround(1e3 * experiment.measure.sustain_seconds);
  for (const Cell& cell : group.cells)
    ms += nominal_ms(experiment, *cell.variant, group.problem.get());
  return ms;
}

}  // namespace

std::string to_string(const Shard& shard) {
  return fmt::format("{}/{}", shard.index, shard.count);
}

Shard parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto index = parsed<std::size_t>(text.substr(0, slash));
  const auto count =
      slash == std::string_view::npos ? std::nullopt : parsed<std::size_t>(text.substr(slash + 1));
  const char* const allowed = "expected I/N, such as 2/4, with I from 1 to N";
  if (!index || !count) throw ConfigError(fmt::format("--shard {}: {}", text, allowed));
  if (*count == 0) throw ConfigError(fmt::format("--shard {}: no shards; {}", text, allowed));
  if (*index == 0 || *index > *count) {
    throw ConfigError(
        fmt::format("--shard {}: there is no shard {} of {}; {}", text, *index, *count, allowed));
  }
  return {*index, *count};
}

std::vector<std::size_t> shards_of_groups(const Plan& plan, std::size_t count) {
  if (count == 1) return std::vector<std::size_t>(plan.groups.size(), 1);
  std::vector<std::int64_t> ms;
  for (const Group& group : plan.groups)
    ms.push_back(nominal_ms(plan, group));
  std::vector<std::size_t> longest_first(plan.groups.size());
  std::iota(longest_first.begin(), longest_first.end(), std::size_t{0});
  std::ranges::stable_sort(longest_first, std::greater<>(),
                           [&](std::size_t group) { return ms[group]; });
  std::vector<std::int64_t> load_ms(std::min(count, plan.groups.size()));
  std::vector<std::size_t> shards(plan.groups.size());
  for (const std::size_t group : longest_first) {
    const auto least_loaded = std::ranges::min_element(load_ms);
    *least_loaded += ms[group];
    shards[group] = static_cast<std::size_t>(least_loaded - load_ms.begin()) + 1;
  }
  return shards;
}

std::vector<ShardedCell> sharded_cells(const Plan& plan, std::size_t count) {
  const std::vector<std::size_t> shards = shards_of_groups(plan, count);
  std::vector<ShardedCell> cells;
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    for (const Cell& cell : plan.groups[g].cells)
      cells.push_back({cell_key(plan, plan.groups[g], cell), shards[g]});
  }
  return cells;
}

void keep_shard(const Shard& shard, Plan& plan) {
  const std::vector<std::size_t> shards = shards_of_groups(plan, shard.count);
  std::vector<Group> kept;
  std::size_t next_index = 0;
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    if (shards[g] != shard.index) continue;
    for (Cell& cell : plan.groups[g].cells)
      cell.index = next_index++;
    kept.push_back(std::move(plan.groups[g]));
  }
  plan.groups = std::move(kept);
}

}  // namespace gpuexp
