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

/// A comparison of two reports, which must outlive it.
struct RunComparison {
  std::vector<ComparedRow> rows;  ///< in the order of A, then the rows that only B has
  /// Columns that name the rows: experiment, family, variant, mode, parameters, key. A's columns
  /// are first, then the columns that only B has.
  std::vector<RecordColumn> labels;
  /// The labels and the results of the comparison as fields, with one row for each of `rows`.
  Table table;
  Tally all;
  std::vector<Tally> experiments;  ///< in order of first appearance
};

/// Compares the samples of rows with equal `key`. A key that occurs twice in a report gives one
/// inconclusive row. Throws ReportError if a report has no column `key`.
RunComparison compare_runs(const Report& a, const Report& b, const MinimumEffect& effect);

void keep_keys(Report& report, const std::set<std::string>& keys);

/// The cells that passed in every run, compared between every two runs.
std::vector<RepeatedCell> repeated_cells(const std::vector<Report>& runs);

}  // namespace gpuexp
