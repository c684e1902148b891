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
  not_measured,    ///< a row is missing, did not pass, or has no number
};
inline constexpr ClaimVerdict kClaimVerdicts[] = {
    ClaimVerdict::reproduced, ClaimVerdict::not_reproduced, ClaimVerdict::not_measured};
std::string_view name_of(ClaimVerdict verdict);

/// Origin of the number that is compared with a claim.
enum class ValueOrigin {
  none,
  measured,   ///< timed, or another number that only a run provides
  counted,    ///< counted by hardware counters
  simulated,  ///< counted by the simulator
  computed,   ///< computed from the problem and the device
  predicted,  ///< predicted by the model, if neither measured nor counted
};
std::string_view name_of(ValueOrigin origin);

struct ClaimOutcome {
  /// The published number. If the model has a number for this device and one for the published
  /// device, the published number is multiplied by their ratio.
  double expected = 0;
  bool is_transposed = false;
  std::optional<double> value;  ///< in the claim's unit
  ValueOrigin origin = ValueOrigin::none;
  std::optional<double> ratio;  ///< value / expected
  ClaimVerdict verdict = ClaimVerdict::not_measured;
  std::string why;  ///< reason for the verdict, one or two sentences

  bool operator==(const ClaimOutcome&) const = default;
};

/// The number of a claim's quantity; if there is none, `why_not` has the reason.
struct ClaimValue {
  std::optional<double> number;  ///< in the claim's unit
  ValueOrigin origin = ValueOrigin::none;
  std::string why_not;
};
ClaimValue value_of(const Quantity& quantity, const std::vector<ResultRecord>& rows);

/// The quantity according to the model: predicted times, rates computed from predicted times,
/// predicted counters.
ClaimValue model_value_of(const Quantity& quantity, const std::vector<ResultRecord>& rows);

/// The outcome of a claim. Times and rates require timed rows. For other quantities, the model's
/// value is used if the rows have no value.
ClaimOutcome outcome_of(const Claim& claim, const std::vector<ResultRecord>& rows);

/// "Dao et al., 2022".
std::string short_name_of(const FigureSource& source);

bool is_row(const ClaimedRow& claimed, const ResultRecord& record);

}  // namespace gpuexp
