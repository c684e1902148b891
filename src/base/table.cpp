#include "base/table.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace gpuexp {

std::string_view name_of(FieldType type) {
  static constexpr std::array<std::string_view, 3> kNames{"text", "integer", "real"};
  return kNames.at(static_cast<std::size_t>(type));
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
