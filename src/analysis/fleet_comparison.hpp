// Comparison of the GPUs of a fleet: for each cell, the ratio of a GPU's time to the fleet's time;
// and the GPUs that stand out.
//
// The fleet's time is the median of the GPUs' median times; the ends of its interval are the
// medians of the ends of the GPUs' intervals. A cell is slower or faster by the rules for two runs
// (stats/ratio.hpp), but without corrections for clocks and floors, because a GPU with a lower
// clock must stand out.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/table.hpp"
#include "results/report.hpp"
#include "stats/ratio.hpp"

namespace gpuexp {

/// One cell on one GPU, if at least two GPUs have a time for the cell.
struct FleetCell {
  const ResultRecord* record = nullptr;  ///< the report must outlive this object
  std::size_t gpu = 0;                   ///< index into FleetComparison::gpus
  Statistics time_us;
  double fleet_time_us = 0;
  std::size_t gpu_count = 0;  ///< number of GPUs with a time for the cell
  Ratio ratio{1, {1, 1}};
  double effect = 0;  ///< minimum effect in force, as a share of the time
  Verdict verdict = Verdict::same;
};

struct FleetGpu {
  std::string uuid;
  std::string name;  ///< "" if unknown
  std::string host;
  std::size_t cells = 0;  ///< number of compared cells
  std::size_t slower = 0;
  std::size_t faster = 0;
  std::size_t not_passed = 0;   ///< number of cells that only other GPUs passed
  double median_ratio = 1;      ///< median ratio over its cells
  Ratio mean_ratio{1, {1, 1}};  ///< geometric mean over its cells
  /// slower or faster if the GPU stands out, by its mean ratio or by more slower or faster cells
  /// than chance explains (kFalseVerdictRate).
  Verdict verdict = Verdict::same;

  bool stands_out() const { return verdict != Verdict::same || not_passed > 0; }
};

struct FleetComparison {
  std::vector<FleetGpu> gpus;         ///< the slowest first
  std::vector<FleetCell> cells;       ///< in the order of the results, grouped by key
  std::size_t keys = 0;               ///< number of compared keys
  std::vector<std::string> left_out;  ///< keys that are not compared, with the reason
  Table table;                        ///< one row for each of `cells`
};

struct FleetResults {
  std::string name;  ///< name of the file or folder
  const Report& report;
};

/// Throws ReportError if a row has no GPU UUID, if a GPU has two rows with one key, if there are
/// fewer than two GPUs, or if no key has times of two GPUs.
FleetComparison compare_fleet(const std::vector<FleetResults>& results,
                              const MinimumEffect& effect);

}  // namespace gpuexp
