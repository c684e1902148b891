// UTF-8, one character at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gpuexp {

struct CodePoint {
  std::optional<char32_t> value;  ///< empty for a byte that is not UTF-8
  std::size_t bytes = 1;
};

/// The first character of a text that has one. Overlong forms, surrogates and what lies above
/// U+10FFFF are no UTF-8 (RFC 3629).
CodePoint decode_utf8(std::string_view text);

/// Appends a code point, which is no surrogate and at most U+10FFFF.
void append_utf8(std::string& text, char32_t code_point);

}  // namespace gpuexp
