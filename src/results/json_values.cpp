#include "results/json_values.hpp"

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "results/json_fields.hpp"

namespace gpuexp {

namespace {

std::string text_of(const Place& place) {
  if (!place.parent) return "";
  const std::string parent = text_of(*place.parent);
  if (place.is_element) return fmt::format("{}[{}]", parent, place.index);
  const std::string member = shown(place.member);
  return parent.empty() ? member : fmt::format("{}.{}", parent, member);
}

const char* name_of(JsonScanner::Kind kind) {
  switch (kind) {
    case JsonScanner::Kind::null: return "null";
    case JsonScanner::Kind::boolean: return "boolean";
    case JsonScanner::Kind::number: return "number";
    case JsonScanner::Kind::string: return "string";
    case JsonScanner::Kind::array: return "array";
    case JsonScanner::Kind::object: return "object";
  }
  return "unknown";
}

}  // namespace

std::string shown(std::string_view name) {
  return shorten(printable(name));
}

void JsonValues::fail(const Place& place, const std::string& what) const {
  const std::string at = text_of(place);
  throw ReportError(fmt::format("{}: {}{}", file_, at.empty() ? "" : at + ": ", what));
}

void JsonValues::fail_expecting(const Place& place, std::string_view expected) {
  constexpr std::size_t kLongestQuote = 40;
  const Kind kind = scanner_.peek();
  const std::string_view written = text();
  std::string found(name_of(kind));
  if (kind != Kind::array && kind != Kind::object && written.size() <= kLongestQuote)
    found = printable(written);
  fail(place, fmt::format("expected {}, found {}", expected, found));
}

void JsonValues::fail_for_absence(const Place& place, std::string_view name) const {
  fail(place, fmt::format("no member '{}'", shown(name)));
}

void JsonValues::fail_for_repetition(const Place& place, std::string_view name) const {
  fail(place, fmt::format("'{}' is given twice", shown(name)));
}

void JsonValues::require(const std::unordered_set<std::string>& names, const Place& place,
                         std::initializer_list<const char*> required) const {
  for (const char* name : required) {
    if (names.count(name) == 0) fail_for_absence(place, name);
  }
}

void JsonValues::read(const Place& place, std::string& out) {
  expect(place, Kind::string, "a text");
  out = scanner_.string();
}

void JsonValues::read(const Place& place, bool& out) {
  expect(place, Kind::boolean, "true or false");
  out = scanner_.boolean();
}

void JsonValues::read(const Place& place, std::int64_t& out) {
  constexpr const char* kExpected = "a 64-bit integer";
  expect(place, Kind::number, kExpected);
  const std::size_t begin = scanner_.offset();
  const JsonNumber number = scanner_.number();
  if (!number.integer) {
    return_to(begin);
    fail_expecting(place, kExpected);
  }
  out = *number.integer;
}

void JsonValues::read(const Place& place, std::uint64_t& out) {
  constexpr const char* kExpected = "a 64-bit integer of at least 0";
  expect(place, Kind::number, kExpected);
  const std::size_t begin = scanner_.offset();
  if (const auto number = parsed<std::uint64_t>(text())) {
    out = *number;
    return;
  }
  return_to(begin);
  fail_expecting(place, kExpected);
}

void JsonValues::read(const Place& place, double& out) {
  expect(place, Kind::number, "a number");
  out = scanner_.number().real;
}

void JsonValues::read(const Place& place, FieldType& out) {
  if (scanner_.peek() == Kind::string) {
    const std::size_t begin = scanner_.offset();
    const std::string_view name = scanner_.string();
    for (const FieldType type : {FieldType::text, FieldType::integer, FieldType::real}) {
      if (name != gpuexp::name_of(type)) continue;
      out = type;
      return;
    }
    return_to(begin);
  }
  fail_expecting(place, "\"text\", \"integer\" or \"real\"");
}

Field JsonValues::field(const Place& place, FieldType type) {
  if (scanner_.peek() == Kind::null) {
    scanner_.null();
    return std::monostate{};
  }
  const auto typed = [&](auto value) -> Field {
    read(place, value);
    return value;
  };
  switch (type) {
    case FieldType::text: return typed(std::string{});
    case FieldType::integer: return typed(std::int64_t{});
    case FieldType::real: return typed(double{});
  }
  fail(place, "the column has no type");
}

std::string_view JsonValues::text() {
  scanner_.peek();
  const std::size_t begin = scanner_.offset();
  scanner_.skip();
  return text_.substr(begin, scanner_.offset() - begin);
}

// Throws for an integer of more than 64 bits instead of rounding it.
Field JsonValues::scalar(const Place& place) {
  const Kind kind = scanner_.peek();
  if (kind == Kind::null || kind == Kind::string) return field(place, FieldType::text);
  if (kind != Kind::number) fail_expecting(place, "a number, a text or null");
  const std::size_t begin = scanner_.offset();
  const JsonNumber number = scanner_.number();
  if (number.integer) return *number.integer;
  const std::string_view written = text_.substr(begin, scanner_.offset() - begin);
  if (written.find_first_of(".eE") != std::string_view::npos) return number.real;
  return_to(begin);
  fail_expecting(place, "a 64-bit integer");
}

Field read_field(JsonValues& values, const Place& place, const ColumnInfo& column) {
  return column.name.starts_with(kParameterPrefix) ? values.scalar(place)
                                                   : values.field(place, column.type);
}

void read_value(JsonValues& values, const Place& place, const RecordColumn& column,
                ResultRecord& record) {
  const std::size_t begin = values.scanner().offset();
  if (store(column, read_field(values, place, column), record)) return;
  values.return_to(begin);
  values.fail_expecting(place, allowed_text(column.handle.fixed->member));
}

void read_member(JsonValues& values, const std::string& name, const Place& place,
                 GroupTimes& group) {
  if (name == kTimesMember) {
    values.members(place, group.times);
  } else {
    values.member(name, place, group);
  }
}

}  // namespace gpuexp
