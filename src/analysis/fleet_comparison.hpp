// The GPUs of a fleet held against each other: what one of them takes for a cell over the median of
// all, and which of them stand out.
//
// A ratio is that of the GPU's median time over the fleet's, the median of the GPUs' medians, whose
// interval has the medians of the ends of theirs. A cell is slower or faster as in a comparison of
// two runs (stats/ratio.hpp), but for the clocks: a GPU that runs at a lower one is what is looked
// for.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/table.hpp"
#include "results/report.hpp"
#include "stats/ratio.hpp"

namespace gpuexp {

/// One cell on one GPU, of those that two GPUs or more have a time of.
struct FleetCell {
  const ResultRecord* record = nullptr;  ///< the report outlives this
  std::size_t gpu = 0;                   ///< index into FleetComparison::gpus
  Statistics time_us;
  double fleet_time_us = 0;
  std::size_t gpu_count = 0;  ///< that have a time of the cell
  Ratio ratio{1, {1, 1}};
  double effect = 0;  ///< minimum effect in force
  Verdict verdict = Verdict::same;
};

struct FleetGpu {
  std::string uuid;
  std::string name;  ///< "" where results do not say
  std::string host;
  std::size_t cells = 0;  ///< that are compared
  std::size_t slower = 0;
  std::size_t faster = 0;
  std::size_t not_passed = 0;   ///< that another GPU passed
  double median_ratio = 1;      ///< over its cells
  Ratio mean_ratio{1, {1, 1}};  ///< geometric mean
  /// slower or faster where it stands out: by its mean ratio, or by more cells than a minimum
  /// effect lets pass by chance (kFalseVerdictRate).
  Verdict verdict = Verdict::same;

  bool stands_out() const { return verdict != Verdict::same || not_passed > 0; }
};

struct FleetComparison {
  std::vector<FleetGpu> gpus;         ///< the slowest first
  std::vector<FleetCell> cells;       ///< in the order of the results; those of one key together
  std::size_t keys = 0;               ///< that are compared
  std::vector<std::string> left_out;  ///< keys that are not, with the reason
  Table table;                        ///< one row for each of `cells`
};

struct FleetResults {
  std::string name;  ///< of the file or folder
  const Report& report;
};

/// Throws ReportError where a result does not say on which GPU a row was measured, where a GPU has
/// a key twice, where there are fewer than two GPUs, and where no key is on two of them.
FleetComparison compare_fleet(const std::vector<FleetResults>& results,
                              const MinimumEffect& effect);

}  // namespace gpuexp
