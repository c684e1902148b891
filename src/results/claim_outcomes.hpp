// Outcomes of a report's published figures: pure functions of rows and claims.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/published_figure.hpp"
#include "record/record_table.hpp"

namespace gpuexp {

enum class ClaimVerdict {
  reproduced,      ///< within the band around the expected value
  not_reproduced,  ///< outside the band
  not_measured,    ///< a row is missing, was skipped, or has no number
};
inline constexpr ClaimVerdict kClaimVerdicts[] = {
    ClaimVerdict::reproduced, ClaimVerdict::not_reproduced, ClaimVerdict::not_measured};
std::string_view name_of(ClaimVerdict verdict);

/// Origin of the number that a claim is compared with.
enum class ValueOrigin {
  none,
  measured,   ///< timed
  counted,    ///< by hardware counters
  simulated,  ///< counted by the simulator
  computed,   ///< from the problem and the device
  predicted,  ///< by the model, if not measured or counted
};
std::string_view name_of(ValueOrigin origin);

struct ClaimOutcome {
  /// The published number, multiplied by the model's number for this device and divided by the
  /// model's number for the published device, if the model has both.
  double expected = 0;
  bool is_transposed = false;
  std::optional<double> value;  ///< in the claim's unit
  ValueOrigin origin = ValueOrigin::none;
  std::optional<double> ratio;  ///< value / expected
  ClaimVerdict verdict = ClaimVerdict::not_measured;
  std::string why;  ///< reason for the verdict, one or two sentences

  bool operator==(const ClaimOutcome&) const = default;
};

/// The number of a claim's quantity, or in `why_not` the reason why there is none.
struct ClaimValue {
  std::optional<double> number;  ///< in the claim's unit
  ValueOrigin origin = ValueOrigin::none;
  std::string why_not;
};
ClaimValue value_of(const Quantity& quantity, const std::vector<ResultRecord>& rows);

/// The quantity according to the model: predicted times, rates from these, predicted counters.
ClaimValue model_value_of(const Quantity& quantity, const std::vector<ResultRecord>& rows);

/// The outcome of a claim. Times and rates need timed rows; for counts and computed numbers, the
/// model's value is used if the rows have none.
ClaimOutcome outcome_of(const Claim& claim, const std::vector<ResultRecord>& rows);

/// "Dao et al., 2022".
std::string short_name_of(const FigureSource& source);

/// Whether the record is the claimed row.
bool is_row(const ClaimedRow& claimed, const ResultRecord& record);

}  // namespace gpuexp
