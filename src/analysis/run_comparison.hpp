// Two runs held against each other, row by row: what `gpuexp compare` shows. (What one run says of
// its variants is in reading.hpp.)
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "results/report.hpp"
#include "stats/calibration.hpp"

namespace gpuexp {

/// What became of a row from run A to run B.
enum class Outcome {
  slower,
  faster,
  same,
  inconclusive,  ///< passed in both; the interval of the ratio reaches past a limit, or there is
                 ///< none
  missing,       ///< in A alone
  added,         ///< in B alone
  broken,        ///< passed in A and not in B
  repaired,      ///< passed in B and not in A
  untested,      ///< passed in neither
};
inline constexpr std::size_t kOutcomeCount = 9;
std::string_view name_of(Outcome outcome);

struct ComparedRow {
  std::string key;
  std::string experiment;
  Outcome outcome = Outcome::inconclusive;
  std::string reason;  ///< why there is no verdict; "" where the numbers say it
  std::string status_a;
  std::string status_b;
  std::optional<Statistics> a;
  std::optional<Statistics> b;
  std::optional<Ratio> ratio;    ///< B over A
  std::optional<double> effect;  ///< minimum effect in force
  /// SM clock of B over that of A, where both are known.
  std::optional<double> clock_ratio;
  /// How far the times of an empty kernel in the row's mode lie apart, where both are known. They
  /// differ from process to process, and every row with them.
  std::optional<double> floor_shift_us;

  /// The interval of `ratio`, which there is, less what the clocks and the floors explain.
  Interval beyond_circumstances() const;
};

struct Tally {
  std::string experiment;  ///< "" for all of them
  std::array<std::size_t, kOutcomeCount> counts{};
  std::vector<Ratio> ratios;

  std::size_t count(Outcome outcome) const { return counts.at(static_cast<std::size_t>(outcome)); }
};

struct RunComparison {
  std::vector<ComparedRow> rows;  ///< in the order of A, then those in B alone
  /// What names the rows (experiment, family, variant, mode, parameters, key), then what
  /// compare found; a row for each of `rows`.
  Table table;
  Tally all;
  std::vector<Tally> experiments;  ///< in the order in which they first appear
};

/// Compares by the column `key`, from the samples. A key that a file has more than once cannot be
/// matched: it gives one inconclusive row. Throws ReportError where a report has no such column.
RunComparison compare_runs(const Report& a, const Report& b, const MinimumEffect& effect);

/// Leaves the rows of these keys. Throws ReportError where the report has no column `key`.
void keep_keys(Report& report, const std::set<std::string>& keys);

/// One line for each difference between the circumstances of two runs: GPU, driver, toolkit,
/// commit, seed, settings.
std::vector<std::string> differences(const Provenance& a, const Provenance& b);

/// The cells that passed in every run, in every pair of runs.
std::vector<RepeatedCell> repeated_cells(const std::vector<Report>& runs);

}  // namespace gpuexp
