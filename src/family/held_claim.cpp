#include "family/held_claim.hpp"

#include <cmath>

#include "base/text.hpp"

namespace gpuexp {

namespace {

std::string_view next_part(std::string_view& text, std::string_view separator) {
  const std::size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + separator.size());
  return part;
}

// Parses numbers such as "1/4" and "2.5".
std::optional<double> number_in(std::string_view text) {
  if (text.ends_with('/')) return std::nullopt;
  const auto numerator = parsed<double>(next_part(text, "/"));
  if (!numerator || text.empty()) return numerator;
  const auto denominator = parsed<double>(text);
  if (!denominator || *denominator == 0) return std::nullopt;
  return *numerator / *denominator;
}

std::optional<HeldRelation> relation_in(std::string_view text) {
  if (text == "=") return HeldRelation::equal;
  if (text == "<=") return HeldRelation::at_most;
  if (text == ">=") return HeldRelation::at_least;
  return std::nullopt;
}

bool read_parameters(std::string_view text, HeldClaim& claim) {
  while (!text.empty()) {
    std::string_view value = next_part(text, ", ");
    const std::string_view name = next_part(value, "=");
    if (name.empty() || value.empty() || value.find(' ') != std::string_view::npos) return false;
    claim.at.emplace_back(name, value);
  }
  return !claim.at.empty();
}

// Parses " × VARIANT", " within P %" (only if the relation is "=") and " at NAME=VALUE, ...", all
// optional.
bool read_rest(std::string_view text, HeldClaim& claim) {
  bool has_tolerance = false;
  while (!text.empty()) {
    const std::string_view word = next_part(text, " ");
    if (word == "×" && claim.of.empty()) {
      claim.of = next_part(text, " ");
      if (claim.of.empty()) return false;
    } else if (word == "within" && claim.relation == HeldRelation::equal && !has_tolerance) {
      has_tolerance = true;
      const auto percent = parsed<double>(next_part(text, " "));
      if (!percent || !(*percent > 0) || next_part(text, " ") != "%") return false;
      claim.tolerance = *percent / 100;
    } else {
      return word == "at" && read_parameters(text, claim);
    }
  }
  return true;
}

}  // namespace

bool HeldClaim::holds(double value) const {
  switch (relation) {
    case HeldRelation::equal: return std::abs(value - number) <= tolerance * std::abs(number);
    case HeldRelation::at_most: return value <= number;
    case HeldRelation::at_least: return value >= number;
  }
  return false;
}

std::optional<HeldClaim> held_claim_in(std::string_view text) {
  HeldClaim claim;
  claim.text = text;
  claim.quantity = next_part(text, " ");
  const auto relation = relation_in(next_part(text, " "));
  const auto number = number_in(next_part(text, " "));
  if (claim.quantity.empty() || !relation || !number || !std::isfinite(*number))
    return std::nullopt;
  claim.relation = *relation;
  claim.number = *number;
  if (!read_rest(text, claim)) return std::nullopt;
  return claim;
}

}  // namespace gpuexp
