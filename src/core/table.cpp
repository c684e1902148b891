#include "core/table.hpp"

namespace gpuexp {

std::string_view name_of(FieldType type) {
  switch (type) {
    case FieldType::text: return "text";
    case FieldType::integer: return "integer";
    case FieldType::real: return "real";
  }
  return "unknown";
}

}  // namespace gpuexp
