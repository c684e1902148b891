#include "base/table.hpp"

namespace gpuexp {

std::string_view name_of(FieldType type) {
  switch (type) {
    case FieldType::text: return "text";
    case FieldType::integer: return "integer";
    case FieldType::real: return "real";
  }
  return "unknown";
}

std::optional<std::size_t> Table::column(std::string_view name) const {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == name) return i;
  }
  return std::nullopt;
}

}  // namespace gpuexp
