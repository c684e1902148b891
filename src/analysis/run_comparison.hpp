// Two runs held against each other, row by row: what `gpuexp compare` shows. (What one run says of
// its variants is in headline.hpp.)
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
  std::string experiment;  ///< "" for all of them
  std::array<std::size_t, kOutcomeCount> counts{};
  std::vector<Ratio> ratios;

  std::size_t count(Outcome outcome) const { return counts.at(static_cast<std::size_t>(outcome)); }
};

/// Refers to the reports' rows.
struct RunComparison {
  std::vector<ComparedRow> rows;  ///< in the order of A, then those in B alone
  /// What names the rows: experiment, family, variant, mode, parameters, key; of A and then of B.
  std::vector<RecordColumn> labels;
  /// These, then what compare found, as fields; a row for each of `rows`.
  Table table;
  Tally all;
  std::vector<Tally> experiments;  ///< in the order in which they first appear
};

/// Compares by the column `key`, from the samples. A key that a file has more than once cannot be
/// matched: it gives one inconclusive row. Throws ReportError where a report has no such column.
RunComparison compare_runs(const Report& a, const Report& b, const MinimumEffect& effect);

/// Leaves the rows of these keys. Throws ReportError where the report has no column `key`.
void keep_keys(Report& report, const std::set<std::string>& keys);

/// The cells that passed in every run, in every pair of runs.
std::vector<RepeatedCell> repeated_cells(const std::vector<Report>& runs);

}  // namespace gpuexp
