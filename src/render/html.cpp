#include "render/html.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "base/text.hpp"

namespace gpuexp {

namespace {

unsigned hex_digit(char c) {
  return c <= '9' ? static_cast<unsigned>(c - '0') : static_cast<unsigned>(c - 'a' + 10);
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char c : printable(text)) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

std::string escape_html_lines(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    escaped += escape_html(text.substr(0, end));
    if (end < text.size()) escaped += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return escaped;
}

std::string html_element(std::string_view name, std::string_view text) {
  return fmt::format("<{}>{}</{}>", name, escape_html(text), name);
}

std::string base64_of_hex(std::string_view hexadecimal) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr std::size_t kHexPerGroup = 6;  // 3 bytes, 4 digits of base 64
  std::string text;
  for (std::size_t i = 0; i < hexadecimal.size(); i += kHexPerGroup) {
    const std::string_view part = hexadecimal.substr(i, kHexPerGroup);
    std::uint32_t bits = 0;
    for (std::size_t d = 0; d < kHexPerGroup; ++d)
      bits = bits << 4 | (d < part.size() ? hex_digit(part[d]) : 0);
    const std::size_t bytes = part.size() / 2;
    for (std::size_t d = 0; d < 4; ++d)
      text += d <= bytes ? kDigits[bits >> (18 - 6 * d) & 63] : '=';
  }
  return text;
}

}  // namespace gpuexp
