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

/// One member per column.
Json json_of_row(const Table& table, std::size_t row);

/// A name that is not UTF-8 must not cost the results that it stands beside: its bad bytes become
/// U+FFFD.
std::string text_of(const Json& json, int indent);

/// `"name": [` with a line per element, so that tools which work by lines find a row in one.
template <class Element>
std::string json_lines(const std::string& name, std::size_t count, const Element& element) {
  std::string text = "\"" + name + "\": [";
  for (std::size_t i = 0; i < count; ++i)
    text += (i == 0 ? "\n    " : ",\n    ") + text_of(element(i), -1);
  return text + "\n  ]";
}

}  // namespace gpuexp
