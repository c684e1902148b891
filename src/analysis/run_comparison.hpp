// Comparison of two runs, row by row, for `gpuexp compare`. (headline.hpp compares variants within
// one run.)
#pragma once

#include <array>
#include <set>
#include <string>
#include <vector>

#include "analysis/compared_row.hpp"
#include "results/report.hpp"
#include "stats/calibration.hpp"

namespace gpuexp {

struct Tally {
  std::string experiment;  ///< "" for all experiments
  std::array<std::size_t, kOutcomeCount> counts{};
  std::vector<Ratio> ratios;

  std::size_t count(Outcome outcome) const { return counts.at(static_cast<std::size_t>(outcome)); }
};

/// Refers to the reports' rows, which must outlive it.
struct RunComparison {
  std::vector<ComparedRow> rows;  ///< in the order of A, then rows only in B
  /// Columns that name the rows: experiment, family, variant, mode, parameters, key; A's, then B's.
  std::vector<RecordColumn> labels;
  /// The labels and the results of the comparison as fields; one row for each of `rows`.
  Table table;
  Tally all;
  std::vector<Tally> experiments;  ///< in the order in which they first appear
};

/// Compares rows with equal `key` by their samples. A key that is repeated in a report gives one
/// inconclusive row. Throws ReportError if a report has no column `key`.
RunComparison compare_runs(const Report& a, const Report& b, const MinimumEffect& effect);

/// Keeps only the rows with these keys. Throws ReportError if the report has no column `key`.
void keep_keys(Report& report, const std::set<std::string>& keys);

/// The cells that passed in every run, compared in every pair of runs.
std::vector<RepeatedCell> repeated_cells(const std::vector<Report>& runs);

}  // namespace gpuexp
