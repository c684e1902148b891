// A row of one run compared with the same row of another, and what a report says of a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/result_record.hpp"
#include "results/report.hpp"
#include "stats/ratio.hpp"
#include "stats/statistics.hpp"

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
  /// The first row of its key, A's where A has one. The reports outlive this.
  const ResultRecord* record = nullptr;
  Outcome outcome = Outcome::inconclusive;
  std::string reason;              ///< why there is no verdict; "" where the numbers say it
  std::optional<Status> status_a;  ///< empty where the row is not there
  std::optional<Status> status_b;
  std::optional<Statistics> a;
  std::optional<Statistics> b;
  std::optional<Ratio> ratio;    ///< B over A
  std::optional<double> effect;  ///< minimum effect in force
  /// SM clock of B over that of A, where both are known.
  std::optional<double> clock_ratio;
  /// Kernels of one launch, 1 where neither run says.
  std::int64_t kernel_launches = 1;
  /// How far the times of as many empty kernels in the row's mode lie apart, B's less A's, where
  /// both are known. They differ from process to process, and every row with them.
  std::optional<double> floor_shift_us;

  /// The interval of `ratio`, which has to be there, less what the clocks and the floors explain.
  Interval beyond_circumstances() const;
  /// That of beyond_circumstances(); `same` also where the times are the same once the difference
  /// of the floors is taken off.
  Verdict verdict() const;
};

struct RowStatistics {
  std::optional<Statistics> statistics;
  std::string problem;  ///< why they cannot be compared, such as too few samples; "" where they can
};

/// Of a row of the report. `which` names the report in what is said of it.
RowStatistics statistics_of(const Report& report, std::size_t row, const std::string& which);

/// One line for each difference between the circumstances of two runs: GPU, driver, toolkit,
/// commit, seed, settings.
std::vector<std::string> differences(const Provenance& a, const Provenance& b);

}  // namespace gpuexp
