#include "base/table.hpp"

#include <cmath>

#include <fmt/format.h>

namespace gpuexp {

std::string_view name_of(FieldType type) {
  switch (type) {
    case FieldType::text: return "text";
    case FieldType::integer: return "integer";
    case FieldType::real: return "real";
  }
  return "unknown";
}

Field text_field(std::string_view text) {
  return text.empty() ? Field{} : Field{std::string(text)};
}

Field number_field(const std::optional<double>& number) {
  return number ? Field{*number} : Field{};
}

std::string text_of(const Field& field) {
  if (const auto* text = std::get_if<std::string>(&field)) return *text;
  if (const auto* integer = std::get_if<std::int64_t>(&field)) return fmt::format("{}", *integer);
  const auto real = number_in(field);
  return real ? fmt::format("{}", *real) : "";
}

std::optional<double> number_in(const Field& field) {
  if (const auto* integer = std::get_if<std::int64_t>(&field)) return static_cast<double>(*integer);
  const auto* real = std::get_if<double>(&field);
  return real && std::isfinite(*real) ? std::optional(*real) : std::nullopt;
}

std::optional<std::size_t> Table::column(std::string_view name) const {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == name) return i;
  }
  return std::nullopt;
}

}  // namespace gpuexp
