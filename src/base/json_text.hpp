// What the JSON that this program writes shares: values of tables, and objects a line each.
#pragma once

#include <cstddef>
#include <string>

#include "base/json.hpp"
#include "base/table.hpp"

namespace gpuexp {

/// Missing and non-finite numbers are null.
Json json_of(const Field& field);
Json json_of(const ColumnInfo& column);

/// The list of to_json(item) for each item.
template <class Items, class ToJson>
Json json_list(const Items& items, const ToJson& to_json) {
  Json list = Json::array();
  for (const auto& item : items)
    list.push_back(to_json(item));
  return list;
}

/// The members of `head`, then the table's "columns" and "rows" with a line per element, so that
/// tools which work by lines find a row in one.
std::string json_with_table(const Json& head, const Table& table);

}  // namespace gpuexp
