// Consumes words and numbers from the front of a text.
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace gpuexp {

inline constexpr std::string_view kBlanks = " \t\r";

inline std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

/// Removes and returns the text before `end`, and removes `end`. Without `end`, takes all of
/// `text`.
inline std::string_view take_until(std::string_view& text, std::string_view end) {
  const std::size_t position = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, position);
  text.remove_prefix(std::min(position + end.size(), text.size()));
  return taken;
}

/// Skips blanks, then removes and returns the first word.
inline std::string_view take_word(std::string_view& text) {
  text = trimmed(text);
  const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

/// Removes and returns a number; empty if there is none or it is out of range.
template <class Number>
std::optional<Number> take_number(std::string_view& text, int base = 10) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace gpuexp
