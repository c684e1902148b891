#include "results/declarations.hpp"

#include "base/names.hpp"

namespace gpuexp {

namespace {

std::optional<Value> value_of(const Parameter& parameter, const Field& field) {
  if (const auto* text = std::get_if<std::string>(&field)) return *text;
  if (const auto* real = std::get_if<double>(&field)) return *real;
  const auto* integer = std::get_if<std::int64_t>(&field);
  if (!integer) return std::nullopt;
  if (std::holds_alternative<double>(parameter.default_value)) return static_cast<double>(*integer);
  return *integer;
}

// Values from files may be out of range.
bool allows(const Parameter& parameter, const Value& value) {
  if (value.index() != parameter.default_value.index()) return false;
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    return static_cast<double>(*integer) >= parameter.min &&
           static_cast<double>(*integer) <= parameter.max;
  if (const auto* real = std::get_if<double>(&value))
    return *real >= parameter.min && *real <= parameter.max;
  return is_one_of(std::get<std::string>(value), parameter.choices);
}

}  // namespace

std::shared_ptr<const void> problem_of(const Family& family, const NamedValues& parameters) {
  Values values;
  for (const Parameter& parameter : family.parameters) {
    const auto value = value_of(parameter, parameters.field(parameter.name));
    if (!value || !allows(parameter, *value)) return nullptr;
    values.push_back(*value);
  }
  return family.make_problem(values);
}

}  // namespace gpuexp
