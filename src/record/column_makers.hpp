// What columns are made with.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "record/column.hpp"

namespace gpuexp {

inline constexpr FieldType kText = FieldType::text;
inline constexpr FieldType kInteger = FieldType::integer;
inline constexpr FieldType kReal = FieldType::real;

/// Empty for nothing, and for "".
template <class T>
Field field(const std::optional<T>& value) {
  if (!value) return std::monostate{};
  return *value;
}
inline Field text(std::string_view value) {
  return value.empty() ? Field{} : Field{std::string(value)};
}

/// The column with what a schema can check.
inline Column with(Column column, Presence presence, std::vector<std::string> values = {}) {
  column.presence = presence;
  column.values = std::move(values);
  return column;
}

/// "cold or warm", "passed, failed or skipped"
inline std::string one_of(const std::vector<std::string>& names) {
  const auto last = names.end() - 1;
  return fmt::format("{} or {}", fmt::join(names.begin(), last, ", "), *last);
}

}  // namespace gpuexp
