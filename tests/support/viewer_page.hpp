// The JSON data of an HTML page.
#pragma once

#include <string>

#include "base/json.hpp"

namespace gpuexp::test {

inline Json data_of_page(const std::string& html) {
  const std::string begin = "id=\"data\">";
  const auto at = html.find(begin);
  if (at == std::string::npos) return nullptr;
  const auto first = at + begin.size();
  return Json::parse(html.substr(first, html.find("</script>", first) - first));
}

inline std::size_t count_in(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++count;
  return count;
}

}  // namespace gpuexp::test
