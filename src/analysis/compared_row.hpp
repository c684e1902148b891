// A row of one run compared with the same row of another run.
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

/// Outcome of a row in run B compared with run A.
enum class Outcome {
  slower,
  faster,
  same,
  inconclusive,  ///< passed in both; the interval of the ratio includes a limit, or is missing
  missing,       ///< only in A
  added,         ///< only in B
  broken,        ///< passed only in A
  repaired,      ///< passed only in B
  untested,      ///< passed in neither
};
inline constexpr std::size_t kOutcomeCount = 9;
std::string_view name_of(Outcome outcome);

struct ComparedRow {
  /// The first row with the key, in A if present there. The reports must outlive this.
  const ResultRecord* record = nullptr;
  Outcome outcome = Outcome::inconclusive;
  std::string reason;              ///< why there is no verdict; "" if there is one
  std::optional<Status> status_a;  ///< empty if the row is absent
  std::optional<Status> status_b;
  std::optional<Statistics> a;
  std::optional<Statistics> b;
  std::optional<Ratio> ratio;    ///< time in B / time in A
  std::optional<double> effect;  ///< minimum effect in force
  /// SM clock in B / SM clock in A, if both are known.
  std::optional<double> clock_ratio;
  /// Kernels of one launch; 1 if unknown.
  std::int64_t kernel_launches = 1;
  /// Time of `kernel_launches` empty kernels in the row's mode, B minus A, if both are known. The
  /// floor differs between processes and shifts every row.
  std::optional<double> floor_shift_us;

  /// The interval of `ratio` without the part that clocks and floors explain. Requires `ratio`.
  Interval beyond_circumstances() const;
  /// The verdict of beyond_circumstances(); `same` also if the times are the same after subtracting
  /// the difference of the floors.
  Verdict verdict() const;
};

struct RowStatistics {
  std::optional<Statistics> statistics;
  std::string problem;  ///< why they cannot be compared, such as too few samples; "" if they can
};

/// Statistics of a row of the report, from its samples. Messages name the report `which`.
RowStatistics statistics_of(const Report& report, std::size_t row, const std::string& which);

/// One line for each difference between the conditions of two runs: GPU, driver, toolkit, commit,
/// seed, settings.
std::vector<std::string> differences(const Provenance& a, const Provenance& b);

}  // namespace gpuexp
