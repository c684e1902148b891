// What the rows of a report say of its published figures: pure functions of rows and claims.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/published_figure.hpp"
#include "record/record_table.hpp"

namespace gpuexp {

enum class ClaimVerdict {
  reproduced,      ///< within the band around what is expected
  not_reproduced,  ///< outside of it
  not_measured,    ///< a row is missing, was skipped, or has no number
};
inline constexpr ClaimVerdict kClaimVerdicts[] = {
    ClaimVerdict::reproduced, ClaimVerdict::not_reproduced, ClaimVerdict::not_measured};
std::string_view name_of(ClaimVerdict verdict);

/// Where the number is from that a claim is held against.
enum class ValueOrigin {
  none,
  measured,   ///< by a clock
  counted,    ///< by the hardware
  simulated,  ///< counted by who executed the kernels on the CPU
  computed,   ///< from the problem and the device
  predicted,  ///< counted by the model, where nobody else did
};
std::string_view name_of(ValueOrigin origin);

struct ClaimOutcome {
  /// What the published number becomes on this device: times the model's number here over its
  /// number there; the published number where the model lacks one of them.
  double expected = 0;
  bool is_transposed = false;
  std::optional<double> value;  ///< in the claim's unit
  ValueOrigin origin = ValueOrigin::none;
  std::optional<double> ratio;  ///< value over expected
  ClaimVerdict verdict = ClaimVerdict::not_measured;
  std::string why;  ///< of the verdict, a sentence or two

  bool operator==(const ClaimOutcome&) const = default;
};

/// The number of the claim's quantity in rows that were run; `why_not` gets the reason where there
/// is none.
struct ClaimValue {
  std::optional<double> number;  ///< in the claim's unit
  ValueOrigin origin = ValueOrigin::none;
  std::string why_not;
};
ClaimValue value_of(const Quantity& quantity, const std::vector<ResultRecord>& rows);

/// The same by the model: predicted times, amounts over them, predicted counters.
ClaimValue model_value_of(const Quantity& quantity, const std::vector<ResultRecord>& rows);

/// Times and rates need rows that were timed; for counts and what is computed, the model stands in.
ClaimOutcome outcome_of(const Claim& claim, const std::vector<ResultRecord>& rows);

/// "Dao et al., 2022".
std::string short_name_of(const FigureSource& source);

/// Whether the record is the claimed row.
bool is_row(const ClaimedRow& claimed, const ResultRecord& record);

}  // namespace gpuexp
