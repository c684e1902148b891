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

/// Outcome of a row in run B relative to run A.
enum class Outcome {
  slower,
  faster,
  same,
  inconclusive,  ///< passed in both runs, without a verdict; or the key occurs twice
  missing,       ///< passed in A, absent from B
  added,         ///< only in B
  broken,        ///< passed only in A
  repaired,      ///< passed only in B
  untested,      ///< passed in neither; B may lack the row
};
inline constexpr std::size_t kOutcomeCount = 9;
std::string_view name_of(Outcome outcome);

struct ComparedRow {
  /// The first row with the key: in A, or in B if A lacks it. The reports must outlive the
  /// comparison.
  const ResultRecord* record = nullptr;
  bool is_in_both = false;  ///< both reports have the key
  Outcome outcome = Outcome::inconclusive;
  std::string reason;              ///< why there is no verdict; "" if there is one
  std::optional<Status> status_a;  ///< empty if the row is absent
  std::optional<Status> status_b;
  std::optional<Statistics> a;
  std::optional<Statistics> b;
  std::optional<Ratio> ratio;    ///< time in B / time in A
  std::optional<double> effect;  ///< minimum effect in force, as a share of the time
  /// SM clock in B divided by SM clock in A, if both are known.
  std::optional<double> clock_ratio;
  /// Number of kernels in one launch, the larger of the numbers in A and B; 1 if unknown.
  std::int64_t kernel_launches = 1;
  /// Time of `kernel_launches` empty kernels in the row's mode, B minus A, if both are known. This
  /// floor differs between processes and shifts the times of all rows.
  std::optional<double> floor_shift_us;

  /// The interval of `ratio`, with its end nearer to 1 moved towards 1 by the differences that
  /// clocks and floors explain. Requires `ratio`.
  Interval beyond_circumstances() const;
  /// The verdict on beyond_circumstances(). Also `same` if this is inconclusive, but the ratio is
  /// the same after `floor_shift_us` is subtracted.
  Verdict verdict() const;
};

struct RowStatistics {
  std::optional<Statistics> statistics;
  /// Why the samples cannot be compared: too few, for example; "" if they can.
  std::string problem;
};

/// Statistics of a row's samples. Messages name the report `which`.
RowStatistics statistics_of(const Report& report, std::size_t row, const std::string& which);

/// The conditions in which two runs differ, one per text: GPU, driver, CUDA runtime, toolkit,
/// commit, seed; at most three settings.
std::vector<std::string> differences(const Provenance& a, const Provenance& b);

}  // namespace gpuexp
