#include "record/record_member.hpp"

#include <array>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "config/config_keys.hpp"

namespace gpuexp {

namespace {

constexpr char kSeparator = ';';  // between the elements of a list in one field

// ---- enumerations: the texts are the names of those enumerators that have a name

constexpr auto enumerators(Mode) {
  std::array<Mode, kModes.size()> modes{};
  for (std::size_t i = 0; i < modes.size(); ++i)
    modes.at(i) = kModes.at(i).mode;
  return modes;
}
constexpr auto enumerators(Status) {
  return kStatuses;
}
constexpr auto enumerators(StopReason) {
  return kStopReasons;
}
constexpr auto enumerators(Implementation) {
  return kImplementations;
}

template <class Enum>
std::vector<std::string> names_of_all() {
  std::vector<std::string> names;
  for (const Enum value : enumerators(Enum{})) {
    if (!name_of(value).empty()) names.emplace_back(name_of(value));
  }
  return names;
}

template <class Enum>
std::optional<Enum> enumerator_named(std::string_view name) {
  for (const Enum value : enumerators(Enum{})) {
    if (!name.empty() && name_of(value) == name) return value;
  }
  return std::nullopt;
}

// ---- members to fields

Field to_field(const std::string& text) {
  return text_field(text);
}
Field to_field(const std::vector<std::string>& texts) {
  return text_field(fmt::format("{}", fmt::join(texts, std::string(1, kSeparator))));
}
Field to_field(const std::vector<ExpectedChange>& changes) {
  return text_field(text_of(changes));
}
template <class T>
Field to_field(const std::optional<T>& value) {
  if (!value) return {};
  if constexpr (std::is_enum_v<T>) {
    return text_field(name_of(*value));
  } else {
    return *value;
  }
}

// ---- fields to members

// NaN and infinity become missing values.
bool from_field(Field field, std::optional<double>& out) {
  out = number_in(field);
  return !std::holds_alternative<std::string>(field);
}
bool from_field(Field field, std::optional<std::int64_t>& out) {
  const auto* integer = std::get_if<std::int64_t>(&field);
  if (integer) out = *integer;
  return integer != nullptr;
}
bool from_field(Field field, std::string& out) {
  auto* text = std::get_if<std::string>(&field);
  if (text) out = std::move(*text);
  return text != nullptr;
}
bool from_field(Field field, std::vector<std::string>& out) {
  const auto* text = std::get_if<std::string>(&field);
  if (text) out = split(*text, kSeparator);
  return text != nullptr;
}
bool from_field(Field field, std::vector<ExpectedChange>& out) {
  const auto* text = std::get_if<std::string>(&field);
  auto changes = text ? expected_changes_in(*text) : std::nullopt;
  if (changes) out = std::move(*changes);
  return changes.has_value();
}
template <class Enum>
bool from_field(Field field, std::optional<Enum>& out) {
  const auto* text = std::get_if<std::string>(&field);
  if (text) out = enumerator_named<Enum>(*text);
  return text && out;
}

// ---- type and allowed texts of a member's column

// For texts and lists.
template <class T>
MemberFacts facts_of_type(const T&) {
  return {};
}
template <class T>
MemberFacts facts_of_type(const std::optional<T>&) {
  if constexpr (std::is_enum_v<T>) {
    return {FieldType::text, names_of_all<T>()};
  } else {
    return {std::is_same_v<T, double> ? FieldType::real : FieldType::integer};
  }
}

}  // namespace

MemberFacts facts_of(const RecordMember& member) {
  static const ResultRecord kRecord;
  return std::visit([](auto m) { return facts_of_type(kRecord.*m); }, member);
}

Field field_of(const RecordMember& member, const ResultRecord& record) {
  return std::visit([&](auto m) { return to_field(record.*m); }, member);
}

bool store(const RecordMember& member, Field field, ResultRecord& record) {
  return std::visit(
      [&](auto m) {
        std::remove_reference_t<decltype(record.*m)> value{};
        const bool is_missing = std::holds_alternative<std::monostate>(field);
        if (!is_missing && !from_field(std::move(field), value)) return false;
        record.*m = std::move(value);
        return true;
      },
      member);
}

std::string one_of(const std::vector<std::string>& names) {
  const auto last = names.end() - 1;
  return fmt::format("{} or {}", fmt::join(names.begin(), last, ", "), *last);
}

std::string allowed_text(const RecordMember& member) {
  if (std::holds_alternative<std::vector<ExpectedChange> ResultRecord::*>(member))
    return "counters with a direction and a factor of at least 1, such as \"l2_sectors decreases "
           "1.9\"";
  const MemberFacts facts = facts_of(member);
  if (!facts.values.empty()) return one_of(facts.values);
  switch (facts.type) {
    case FieldType::text: return "a text";
    case FieldType::integer: return "a 64-bit integer";
    case FieldType::real: return "a number";
  }
  return "";
}

}  // namespace gpuexp
