#include "family/values_text.hpp"

#include <fmt/format.h>

namespace gpuexp {

std::string values_text(const Family& family, const Values& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i)
    text += fmt::format("{}{}={}", i ? "," : "", family.parameters[i].name, to_string(values[i]));
  return text;
}

}  // namespace gpuexp
