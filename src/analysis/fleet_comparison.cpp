#include "analysis/fleet_comparison.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "analysis/compared_row.hpp"
#include "stats/calibration.hpp"

namespace gpuexp {

namespace {

struct FleetRow {
  std::size_t gpu;
  const FleetResults* results;
  std::size_t row;

  const ResultRecord& record() const { return results->report.table.rows[row]; }
};

struct FleetKey {
  std::string key;
  std::vector<FleetRow> rows;
};

class FleetComparer {
 public:
  FleetComparer(const std::vector<FleetResults>& results, const MinimumEffect& effect)
      : results_(results), effect_(effect) {}

  FleetComparison run() {
    for (const FleetResults& results : results_)
      add_rows(results);
    if (fleet_.gpus.size() < 2) {
      throw ReportError(fmt::format("{} of one GPU ({}); expected two or more GPUs",
                                    results_.size() == 1 ? "results" : "all results are",
                                    fleet_.gpus.empty() ? "no rows" : fleet_.gpus.front().uuid));
    }
    for (const FleetKey& key : keys_)
      compare_key(key);
    if (fleet_.cells.empty()) {
      throw ReportError(fmt::format(
          "no cell has times of two GPUs ({}): the shards of a run measure each cell once; whole "
          "runs, one on each GPU, can be compared",
          fleet_.left_out.empty() ? "no rows" : fleet_.left_out.front()));
    }
    for (std::size_t gpu = 0; gpu < fleet_.gpus.size(); ++gpu)
      judge(gpu);
    sort_gpus();
    return std::move(fleet_);
  }

 private:
  void add_rows(const FleetResults& results) {
    const Provenance& p = results.report.provenance;
    for (std::size_t row = 0; row < results.report.table.rows.size(); ++row) {
      const ResultRecord& record = results.report.table.rows[row];
      const std::string uuid =
          record.gpu_uuid.empty() ? p.device.uuid.value_or("") : record.gpu_uuid;
      if (uuid.empty()) {
        throw ReportError(fmt::format("{}: no UUID of the GPU that {} was measured on",
                                      results.name, record.key));
      }
      const std::string host = record.host.empty() ? p.host.value_or("") : record.host;
      const std::size_t gpu = gpu_of(uuid, name_of_gpu(p, uuid), host);
      const auto [place, is_new] = place_of_key_.try_emplace(record.key, keys_.size());
      if (is_new) keys_.push_back({record.key, {}});
      std::vector<FleetRow>& rows = keys_[place->second].rows;
      for (const FleetRow& other : rows) {
        if (other.gpu != gpu) continue;
        throw ReportError(
            fmt::format("{} was measured on {} in {} and in {}; one of them can be "
                        "compared",
                        record.key, uuid, other.results->name, results.name));
      }
      rows.push_back({gpu, &results, row});
    }
  }

  static std::string name_of_gpu(const Provenance& p, const std::string& uuid) {
    for (const PartProvenance& part : p.parts) {
      if (part.gpu_uuid == uuid) return part.gpu.value_or("");
    }
    return p.device.name.value_or("");
  }

  std::size_t gpu_of(const std::string& uuid, const std::string& name, const std::string& host) {
    const auto [place, is_new] = place_of_gpu_.try_emplace(uuid, fleet_.gpus.size());
    if (is_new) {
      FleetGpu& gpu = fleet_.gpus.emplace_back();
      gpu.uuid = uuid;
      gpu.name = name;
      gpu.host = host;
    }
    return place->second;
  }

  void compare_key(const FleetKey& key) {
    std::vector<FleetCell> cells;
    std::string problem = "only one GPU has it";
    const bool any_passed =
        std::ranges::any_of(key.rows, [](const FleetRow& row) { return row.record().passed(); });
    for (const FleetRow& row : key.rows) {
      if (!row.record().passed()) {
        if (any_passed) ++fleet_.gpus[row.gpu].not_passed;
        continue;
      }
      const RowStatistics of_row = statistics_of(row.results->report, row.row, row.results->name);
      if (!of_row.problem.empty()) {
        problem = of_row.problem;
        continue;
      }
      FleetCell& cell = cells.emplace_back();
      cell.record = &row.record();
      cell.gpu = row.gpu;
      cell.time_us = *of_row.statistics;
    }
    if (!any_passed) problem = "no GPU passed it";
    if (cells.size() < 2) {
      fleet_.left_out.push_back(fmt::format("{}: {}", key.key, problem));
      return;
    }
    ++fleet_.keys;
    compare_cells(cells);
    std::move(cells.begin(), cells.end(), std::back_inserter(fleet_.cells));
  }

  void compare_cells(std::vector<FleetCell>& cells) const {
    const auto median = [&](auto value_of) {
      std::vector<double> values;
      for (const FleetCell& cell : cells)
        values.push_back(value_of(cell.time_us));
      return median_of(std::move(values)).value();
    };
    Statistics fleet;
    fleet.median = median([](const Statistics& s) { return s.median; });
    fleet.median_ci95 = Interval{median([](const Statistics& s) { return s.median_ci95->low; }),
                                 median([](const Statistics& s) { return s.median_ci95->high; })};
    for (FleetCell& cell : cells) {
      cell.fleet_time_us = fleet.median;
      cell.gpu_count = cells.size();
      cell.ratio = ratio_of(fleet, cell.time_us).value();
      cell.effect = effect_.at(std::min(fleet.median, cell.time_us.median));
      cell.verdict = verdict_of(cell.ratio.ci95, cell.effect);
    }
  }

  void judge(std::size_t index) {
    FleetGpu& gpu = fleet_.gpus[index];
    std::vector<Ratio> ratios;
    std::vector<double> values;
    for (const FleetCell& cell : fleet_.cells) {
      if (cell.gpu != index) continue;
      ratios.push_back(cell.ratio);
      values.push_back(cell.ratio.value);
      if (cell.verdict == Verdict::slower) ++gpu.slower;
      if (cell.verdict == Verdict::faster) ++gpu.faster;
    }
    gpu.cells = ratios.size();
    if (ratios.empty()) return;
    gpu.median_ratio = median_of(values).value();
    gpu.mean_ratio = geometric_mean(ratios).value();
    const double by_chance = kFalseVerdictRate * static_cast<double>(gpu.cells);
    const Verdict overall = verdict_of(gpu.mean_ratio.ci95, effect_.relative);
    if (overall == Verdict::slower || overall == Verdict::faster) {
      gpu.verdict = overall;
    } else if (static_cast<double>(std::max(gpu.slower, gpu.faster)) > by_chance) {
      gpu.verdict = gpu.slower >= gpu.faster ? Verdict::slower : Verdict::faster;
    }
  }

  void sort_gpus() {
    std::vector<std::size_t> order(fleet_.gpus.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      return fleet_.gpus[a].mean_ratio.value > fleet_.gpus[b].mean_ratio.value;
    });
    std::vector<FleetGpu> sorted;
    std::vector<std::size_t> place(order.size());
    for (const std::size_t gpu : order) {
      place[gpu] = sorted.size();
      sorted.push_back(std::move(fleet_.gpus[gpu]));
    }
    fleet_.gpus = std::move(sorted);
    for (FleetCell& cell : fleet_.cells)
      cell.gpu = place[cell.gpu];
  }

  const std::vector<FleetResults>& results_;
  MinimumEffect effect_;
  std::vector<FleetKey> keys_;  ///< in the order in which they first appear
  std::map<std::string, std::size_t> place_of_key_;
  std::map<std::string, std::size_t> place_of_gpu_;
  FleetComparison fleet_;
};

Table fleet_table(const FleetComparison& fleet) {
  constexpr FieldType kName = FieldType::text;
  constexpr FieldType kNumber = FieldType::real;
  Table table;
  table.columns = {{"key", "", kName, "key of the row"},
                   {"gpu_uuid", "", kName, "UUID of the GPU"},
                   {"gpu", "", kName, "name of the GPU"},
                   {"host", "", kName, "name of the machine"},
                   {"time_us", "us", kNumber, "median time on this GPU"},
                   {"fleet_time_us", "us", kNumber, "median of the GPUs' median times"},
                   {"gpus", "", FieldType::integer, "number of GPUs with a time for the cell"},
                   {"ratio", "x", kNumber, "time_us divided by fleet_time_us"},
                   {"ratio_ci95_low", "x", kNumber, "lower end of the 95 % interval of the ratio"},
                   {"ratio_ci95_high", "x", kNumber, "upper end of the 95 % interval of the ratio"},
                   {"min_effect", "", kNumber, "minimum effect in force, as a share of the time"},
                   {"verdict", "", kName, "slower, faster, same or inconclusive"}};
  for (const FleetCell& cell : fleet.cells) {
    const FleetGpu& gpu = fleet.gpus[cell.gpu];
    table.rows.push_back({text_field(cell.record->key), text_field(gpu.uuid), text_field(gpu.name),
                          text_field(gpu.host), cell.time_us.median, cell.fleet_time_us,
                          static_cast<std::int64_t>(cell.gpu_count), cell.ratio.value,
                          cell.ratio.ci95.low, cell.ratio.ci95.high, cell.effect,
                          text_field(name_of(cell.verdict))});
  }
  return table;
}

}  // namespace

FleetComparison compare_fleet(const std::vector<FleetResults>& results,
                              const MinimumEffect& effect) {
  FleetComparison fleet = FleetComparer(results, effect).run();
  fleet.table = fleet_table(fleet);
  return fleet;
}

}  // namespace gpuexp
