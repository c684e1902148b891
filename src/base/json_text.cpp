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

std::string json_with_table(const Json& head, const Table& table) {
  constexpr int kIndent = 2;
  std::string text = head.dump(kIndent);
  text.resize(text.size() - 2);  // removes the final "\n}"
  const auto add_lines = [&](const std::string& name, const auto& items, const auto& to_json) {
    text += ",\n  \"" + name + "\": [";
    for (const auto& item : items)
      text += (&item == &items.front() ? "\n    " : ",\n    ") + to_json(item).dump();
    text += "\n  ]";
  };
  add_lines("columns", table.columns, [](const ColumnInfo& column) { return json_of(column); });
  add_lines("rows", table.rows, [&](const std::vector<Field>& fields) {
    Json row = Json::object();
    for (std::size_t c = 0; c < fields.size(); ++c)
      row[table.columns[c].name] = json_of(fields[c]);
    return row;
  });
  return text + "\n}\n";
}

}  // namespace gpuexp
