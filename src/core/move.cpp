#include "core/move.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/registry.hpp"
#include "core/table.hpp"

namespace gpuexp {

std::string_view name_of(Direction direction) {
  switch (direction) {
    case Direction::falls: return "falls";
    case Direction::rises: return "rises";
    case Direction::stays: return "stays";
  }
  return "";
}

void add_move(std::vector<Move>& moves, Move move) {
  moves.push_back(std::move(move));
}

bool happened(const Move& move, double from, double to) {
  const double factor = move.factor;
  switch (move.direction) {
    case Direction::falls: return from > 0 && to * factor <= from;
    case Direction::rises: return to > 0 && to >= from * factor;
    case Direction::stays: return to <= from * factor && from <= to * factor;
  }
  return false;
}

std::vector<Move> moves_at(const std::vector<Move>& moves, const void* problem) {
  std::vector<Move> promised;
  for (const Move& move : moves) {
    if (!move.where || move.where(problem)) promised.push_back(move);
  }
  return promised;
}

std::string text_of(const std::vector<Move>& moves) {
  std::vector<std::string> texts;
  texts.reserve(moves.size());
  for (const Move& move : moves)
    texts.push_back(fmt::format("{} {} {}", move.counter, name_of(move.direction), move.factor));
  return fmt::format("{}", fmt::join(texts, ";"));
}

namespace {

// The text up to the separator, which is taken away with it.
std::string_view next_part(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return part;
}

std::optional<Move> move_in(std::string_view text) {
  const std::string_view counter = next_part(text, ' ');
  const std::string_view direction = next_part(text, ' ');
  double factor = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped_at, error] = std::from_chars(text.data(), end, factor);
  if (error != std::errc() || stopped_at != end || !(factor >= 1) || !std::isfinite(factor))
    return std::nullopt;
  for (const Direction known : kDirections) {
    if (direction == name_of(known)) return Move{std::string(counter), known, factor, {}};
  }
  return std::nullopt;
}

// ---- declarations for results that lack them

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

std::vector<Move> moves_in(std::string_view text) {
  std::vector<Move> moves;
  while (!text.empty()) {
    if (auto move = move_in(next_part(text, ';'))) moves.push_back(std::move(*move));
  }
  return moves;
}

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
