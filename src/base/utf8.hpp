// UTF-8, one character at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gpuexp {

struct CodePoint {
  std::optional<char32_t> value;  ///< empty if the text does not start with valid UTF-8
  std::size_t bytes = 1;
};

/// The first character of a non-empty text. Overlong forms, surrogates and values above U+10FFFF
/// are invalid (RFC 3629).
CodePoint decode_utf8(std::string_view text);

bool is_utf8(std::string_view text);

/// Appends a code point that is at most U+10FFFF and not a surrogate.
void append_utf8(std::string& text, char32_t code_point);

}  // namespace gpuexp
