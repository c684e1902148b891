// JSON of table values, and of tables with one line per row.
#pragma once

#include <cstddef>
#include <string>

#include "base/json.hpp"
#include "base/table.hpp"

namespace gpuexp {

/// Missing and non-finite numbers are null.
Json json_of(const Field& field);
Json json_of(const ColumnInfo& column);

template <class Items, class ToJson>
Json json_list(const Items& items, const ToJson& to_json) {
  Json list = Json::array();
  for (const auto& item : items)
    list.push_back(to_json(item));
  return list;
}

/// The members of `head`, then the table's "columns" and "rows" with one line per element, so
/// that line-based tools find a whole row on one line.
std::string json_with_table(const Json& head, const Table& table);

}  // namespace gpuexp
