// Tables of typed fields, as written to and read from files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gpuexp {

/// monostate is a missing value: empty in CSV, null in JSON.
using Field = std::variant<std::monostate, std::int64_t, double, std::string>;

Field text_field(std::string_view text);
Field number_field(const std::optional<double>& number);

/// The field as plain text; "" if it is missing or not finite.
std::string text_of(const Field& field);
/// The finite number in the field; empty if there is none.
std::optional<double> number_in(const Field& field);

enum class FieldType { text, integer, real };
std::string_view name_of(FieldType type);

struct ColumnInfo {
  std::string name;
  std::string unit;
  FieldType type = FieldType::text;
  std::string doc;

  bool operator==(const ColumnInfo&) const = default;
};

struct Table {
  std::vector<ColumnInfo> columns;
  std::vector<std::vector<Field>> rows;

  std::optional<std::size_t> column(std::string_view name) const;

  bool operator==(const Table&) const = default;
};

}  // namespace gpuexp
