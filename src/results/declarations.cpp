#include "results/declarations.hpp"

#include <algorithm>

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

// A file may come from anywhere.
bool allows(const Parameter& parameter, const Value& value) {
  if (value.index() != parameter.default_value.index()) return false;
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    return static_cast<double>(*integer) >= parameter.min &&
           static_cast<double>(*integer) <= parameter.max;
  if (const auto* real = std::get_if<double>(&value))
    return *real >= parameter.min && *real <= parameter.max;
  const auto& choices = parameter.choices;
  return std::find(choices.begin(), choices.end(), std::get<std::string>(value)) != choices.end();
}

std::shared_ptr<const void> problem_of(const Family& family, const Table& table,
                                       const std::vector<Field>& row) {
  Values values;
  for (const Parameter& parameter : family.parameters) {
    const auto column = table.column("param." + parameter.name);
    const auto value = column ? value_of(parameter, row[*column]) : std::nullopt;
    if (!value || !allows(parameter, *value)) return nullptr;
    values.push_back(*value);
  }
  return family.make_problem(values);
}

std::string text_at(const Table& table, const std::vector<Field>& row, std::string_view name) {
  const auto column = table.column(name);
  const auto* text = column ? std::get_if<std::string>(&row[*column]) : nullptr;
  return text ? *text : "";
}

Field text_field(const std::string& text) {
  return text.empty() ? Field{} : Field{text};
}

}  // namespace

void add_declarations(Table& table, const Registry& registry) {
  if (table.column(kCompareToColumn) || table.column(kMovesColumn)) return;
  std::vector<std::pair<Field, Field>> declared;
  for (const std::vector<Field>& row : table.rows) {
    auto& [compare_to, moves] = declared.emplace_back();
    const Family* family = registry.find(text_at(table, row, "family"));
    const Variant* variant = family ? family->find(text_at(table, row, "variant")) : nullptr;
    if (!variant) continue;
    compare_to = text_field(variant->compare_to);
    if (const auto problem = problem_of(*family, table, row))
      moves = text_field(text_of(moves_at(variant->moves, problem.get())));
  }
  table.columns.push_back({kCompareToColumn, "", FieldType::text, ""});
  table.columns.push_back({kMovesColumn, "", FieldType::text, ""});
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    table.rows[i].push_back(std::move(declared[i].first));
    table.rows[i].push_back(std::move(declared[i].second));
  }
}

}  // namespace gpuexp
