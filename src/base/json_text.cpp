#include "base/json_text.hpp"

#include <cmath>

#include "base/json.hpp"

namespace gpuexp {

Json json_of(const Field& field) {
  return std::visit(
      [](const auto& value) -> Json {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<T, double>) {
          return std::isfinite(value) ? Json(value) : Json(nullptr);
        } else {
          return value;
        }
      },
      field);
}

Json json_of(const ColumnInfo& column) {
  return {{"name", column.name},
          {"unit", column.unit},
          {"type", name_of(column.type)},
          {"doc", column.doc}};
}

Json json_of_row(const Table& table, std::size_t row) {
  Json json = Json::object();
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    json[table.columns[c].name] = json_of(table.rows[row][c]);
  return json;
}

std::string text_of(const Json& json, int indent) {
  return json.dump(indent);
}

}  // namespace gpuexp
