#include "results/claim_outcomes.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"

namespace gpuexp {

namespace {

constexpr int kDigits = 3;

bool is_same(const Field& a, const Field& b) {
  const auto x = number_in(a);
  const auto y = number_in(b);
  return x && y ? *x == *y : a == b;
}

// "EXPERIMENT/variant at n = 4096, cold": a row's name in a sentence.
std::string shown_row(const ClaimedRow& row) {
  std::string text = fmt::format("{}/{}", row.experiment, row.variant);
  for (std::size_t i = 0; i < row.parameters.size(); ++i) {
    text += fmt::format("{} {} = {}", i == 0 ? " at" : ",", row.parameters[i].first,
                        text_of(row.parameters[i].second));
  }
  return text + ", " + row.mode;
}

struct FoundRow {
  const ResultRecord* record = nullptr;
  std::string why_not;
};

FoundRow find_row(const ClaimedRow& claimed, const std::vector<ResultRecord>& rows) {
  FoundRow found;
  for (const ResultRecord& row : rows) {
    if (!is_row(claimed, row)) continue;
    if (found.record) return {nullptr, "several rows match " + shown_row(claimed)};
    found.record = &row;
  }
  if (!found.record) found.why_not = "no row matches " + shown_row(claimed);
  return found;
}

bool is_rate(const std::string& column) {
  return column == "tflops" || column == "useful_gb_per_s" || column == "moved_gb_per_s";
}

bool is_counter(const std::string& column) {
  return column.starts_with(kCounterPrefix);
}

bool needs_time(const std::string& column) {
  return column == "time_median_us" || is_rate(column);
}

ValueOrigin origin_of(const std::string& column, const ResultRecord& row) {
  if (needs_time(column)) return ValueOrigin::measured;
  const bool is_simulated = row.executed_on == kSimulated;
  if (is_counter(column)) return is_simulated ? ValueOrigin::simulated : ValueOrigin::counted;
  return ValueOrigin::computed;
}

std::string reason_of(const ResultRecord& row, const std::string& column) {
  if (!row.passed()) return status_text(row) + (row.reason.empty() ? "" : ": " + row.reason);
  if (row.executed_on == kSimulated && needs_time(column)) return "simulated rows have no times";
  return is_counter(column) ? fmt::format("{} was not counted", column)
                            : fmt::format("it has no {}", column);
}

std::optional<double> number_of(const ResultRecord& row, const std::string& column) {
  if (!row.passed()) return std::nullopt;
  return column_named(column).number(row);
}

// The row's number according to the model, in the column's unit. Rates are computed from the
// predicted time.
std::optional<double> model_number_of(const ResultRecord& row, const std::string& column) {
  if (column == "time_median_us") return row.predicted_time_us;
  if (!is_rate(column)) return column_named(column).number(row);
  const auto& amount = column == "tflops"            ? row.operations
                       : column == "useful_gb_per_s" ? row.useful_bytes
                                                     : row.moved_bytes;
  constexpr double kPerTera = 1e-6;  // operations per us are 10^6 per s
  constexpr double kPerGiga = 1e-3;
  if (!amount || !row.predicted_time_us) return std::nullopt;
  return *amount / *row.predicted_time_us * (column == "tflops" ? kPerTera : kPerGiga);
}

enum class NumberOf { rows, model };

// The sum of the columns over the claimed rows, each added ClaimedRow::times times, in the columns'
// unit.
ClaimValue sum_of(const std::vector<ClaimedRow>& claimed, const std::vector<std::string>& columns,
                  const std::vector<ResultRecord>& rows, NumberOf of) {
  ClaimValue sum{0.0, ValueOrigin::none, ""};
  for (const ClaimedRow& row : claimed) {
    const FoundRow found = find_row(row, rows);
    if (!found.record) return {{}, {}, found.why_not};
    for (const std::string& column : columns) {
      const auto number = of == NumberOf::rows ? number_of(*found.record, column)
                                               : model_number_of(*found.record, column);
      if (!number) {
        const std::string why = of == NumberOf::rows ? reason_of(*found.record, column)
                                : found.record->reason.empty()
                                    ? fmt::format("the model has no {}", column)
                                    : found.record->reason;
        return {{}, {}, fmt::format("{}: {}", shown_row(row), why)};
      }
      *sum.number += static_cast<double>(row.times) * *number;
      sum.origin = origin_of(column, *found.record);
    }
  }
  return sum;
}

ClaimValue quantity_of(const Quantity& quantity, const std::vector<ResultRecord>& rows,
                       NumberOf of) {
  ClaimValue value = sum_of(quantity.rows, quantity.columns, rows, of);
  if (value.number && !quantity.over.empty()) {
    const auto& columns = quantity.over_columns.empty() ? quantity.columns : quantity.over_columns;
    const ClaimValue over = sum_of(quantity.over, columns, rows, of);
    if (!over.number) return over;
    *value.number /= *over.number;
  }
  if (value.number) *value.number /= quantity.scale;
  if (value.number && !std::isfinite(*value.number)) return {{}, {}, "the denominator is 0"};
  return value;
}

std::string amount(double number, const std::string& unit) {
  const std::string space = unit.empty() || unit == "×" ? "" : " ";
  return significant(number, kDigits) + space + unit;
}

// Why the value is outside the band: the claim's expectation, or else the model's bound.
std::string reason_outside(const Claim& claim) {
  if (!claim.expectation.empty()) return claim.expectation;
  if (claim.model.bound_by.empty()) return "No known reason explains the difference.";
  return fmt::format("According to the model, {} is bound by {} here.",
                     shown_row(claim.quantity.rows.back()), claim.model.bound_by);
}

std::string why_of(const Claim& claim, const ClaimOutcome& outcome) {
  const std::string expected = amount(outcome.expected, claim.unit);
  const bool is_exact = claim.band_low == claim.band_high;
  if (is_exact && outcome.verdict == ClaimVerdict::reproduced)
    return fmt::format("{}, exactly as expected: {}", expected, claim.because);
  const std::string share = fmt::format("{} of {}", significant(*outcome.ratio, kDigits), expected);
  const std::string band = fmt::format("{} to {}", significant(claim.band_low, kDigits),
                                       significant(claim.band_high, kDigits));
  if (outcome.verdict == ClaimVerdict::reproduced)
    return fmt::format("{}, within the band of {}: {}", share, band, claim.because);
  std::string why =
      fmt::format("{}, outside of the band of {}. {}", share, band, reason_outside(claim));
  if (!claim.model.why_not.empty())
    why += fmt::format(" The published number is used unchanged: {}.", claim.model.why_not);
  return why;
}

}  // namespace

std::string_view name_of(ClaimVerdict verdict) {
  switch (verdict) {
    case ClaimVerdict::reproduced: return "reproduced";
    case ClaimVerdict::not_reproduced: return "not reproduced";
    case ClaimVerdict::not_measured: return "not measured";
  }
  return "";
}

std::string_view name_of(ValueOrigin origin) {
  switch (origin) {
    case ValueOrigin::none: return "none";
    case ValueOrigin::measured: return "measured";
    case ValueOrigin::counted: return "counted";
    case ValueOrigin::simulated: return "simulated";
    case ValueOrigin::computed: return "computed";
    case ValueOrigin::predicted: return "predicted";
  }
  return "";
}

bool is_row(const ClaimedRow& claimed, const ResultRecord& record) {
  return record.experiment == claimed.experiment && record.variant == claimed.variant &&
         mode_text(record) == claimed.mode &&
         std::ranges::all_of(claimed.parameters, [&](const auto& parameter) {
           return is_same(record.parameters.field(parameter.first), parameter.second);
         });
}

ClaimValue value_of(const Quantity& quantity, const std::vector<ResultRecord>& rows) {
  return quantity_of(quantity, rows, NumberOf::rows);
}

ClaimValue model_value_of(const Quantity& quantity, const std::vector<ResultRecord>& rows) {
  return quantity_of(quantity, rows, NumberOf::model);
}

ClaimOutcome outcome_of(const Claim& claim, const std::vector<ResultRecord>& rows) {
  ClaimOutcome outcome;
  outcome.expected = claim.published;
  const auto& here = claim.model.here;
  const auto& published = claim.model.published;
  if (here && published && *here > 0 && *published > 0) {
    outcome.is_transposed = true;
    outcome.expected *= *here / *published;
  }
  ClaimValue value = value_of(claim.quantity, rows);
  std::vector<std::string> columns = claim.quantity.columns;
  columns.insert(columns.end(), claim.quantity.over_columns.begin(),
                 claim.quantity.over_columns.end());
  const bool is_timed = std::ranges::any_of(columns, needs_time);
  if (!value.number && !is_timed && here) {
    const bool is_count = std::ranges::any_of(columns, is_counter);
    value = {here, is_count ? ValueOrigin::predicted : ValueOrigin::computed, ""};
  }
  if (!value.number) {
    outcome.why = value.why_not;
    return outcome;
  }
  outcome.value = value.number;
  outcome.origin = value.origin;
  // The model knows every computed number. If the model has no value, the number was measured.
  if (outcome.origin == ValueOrigin::computed && !here) outcome.origin = ValueOrigin::measured;
  outcome.ratio = *value.number / outcome.expected;
  const bool is_inside = *outcome.ratio >= claim.band_low && *outcome.ratio <= claim.band_high;
  outcome.verdict = is_inside ? ClaimVerdict::reproduced : ClaimVerdict::not_reproduced;
  outcome.why = why_of(claim, outcome);
  return outcome;
}

std::string short_name_of(const FigureSource& source) {
  return fmt::format("{}, {}", source.author, source.year);
}

}  // namespace gpuexp
