// Numbers that people type.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace gpuexp {

/// The number that the whole text is; empty where it is none, or does not fit.
template <class Number>
std::optional<Number> parsed(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stopped_at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stopped_at == end ? std::optional(number) : std::nullopt;
}

}  // namespace gpuexp
