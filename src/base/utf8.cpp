#include "base/utf8.hpp"

#include <array>

namespace gpuexp {

namespace {

// Length in bytes of the sequence that starts with this byte; 0 if no sequence does.
std::size_t sequence_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  if (first >= 0xF0 && first <= 0xF4) return 4;
  return 0;
}

}  // namespace

CodePoint decode_utf8(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = sequence_length(first);
  if (length == 1) return {char32_t{first}, 1};
  if (length == 0 || length > text.size()) return {};
  char32_t value = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0U) != 0x80U) return {};
    value = (value << 6U) | (next & 0x3FU);
  }
  constexpr std::array<char32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kSmallest.at(length) || value > 0x10FFFF || surrogate) return {};
  return {value, length};
}

void append_utf8(std::string& text, char32_t c) {
  const auto continuation = [&](unsigned shift) {
    text += static_cast<char>(0x80U | ((c >> shift) & 0x3FU));
  };
  if (c < 0x80) {
    text += static_cast<char>(c);
    return;
  }
  if (c < 0x800) {
    text += static_cast<char>(0xC0U | (c >> 6U));
  } else if (c < 0x10000) {
    text += static_cast<char>(0xE0U | (c >> 12U));
    continuation(6);
  } else {
    text += static_cast<char>(0xF0U | (c >> 18U));
    continuation(12);
    continuation(6);
  }
  continuation(0);
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    if (!point.value) return false;
    text.remove_prefix(point.bytes);
  }
  return true;
}

}  // namespace gpuexp
