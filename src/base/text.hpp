// Text for people: display widths, rounded numbers, times in a suitable unit.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

/// The unit of all times in a sorted column or on an axis.
struct TimeUnit {
  double us = 1;                 ///< microseconds in one unit
  std::string_view name = "µs";  ///< "ns", "µs", "ms" or "s"
};

/// Columns of UTF-8 text on a terminal: 0 for combining marks, 2 for East Asian wide characters and
/// emoji (Unicode Standard Annex 11). An invalid byte counts as 1.
std::size_t display_width(std::string_view text);

/// The text on one line. Control characters become spaces, because they could control the terminal;
/// invalid bytes become '?'.
std::string printable(std::string_view text);

/// The text for a terminal without UTF-8: this program's symbols in ASCII, other characters as '?'.
std::string to_ascii(std::string_view text);

std::string pad_left(const std::string& text, std::size_t width);
std::string pad_right(const std::string& text, std::size_t width);

/// Wraps words into lines of at most `width` columns; a longer word has its own line.
std::vector<std::string> wrap(const std::string& text, std::size_t width);

/// Wraps words into one text. Each line starts with `indent` spaces and ends in a newline.
std::string paragraph(const std::string& text, std::size_t width, std::size_t indent);

/// A bar for a value in [0, full], padded to `width` columns, with a resolution of 1/8 column. Any
/// positive value is visible.
std::string bar(double value, double full, std::size_t width);

/// Number of decimals for all numbers of a column: four significant digits for the largest, at
/// least two for the smallest, none if all are integers. Empty if more than five would be
/// necessary.
std::optional<int> decimals_for(const std::vector<double>& values);

/// Texts of a column of numbers, with common decimals if possible, otherwise with three significant
/// digits each; "" for missing numbers.
std::vector<std::string> number_texts(const std::vector<std::optional<double>>& values);

/// The text with ASCII letters in lower case.
std::string lower_case(std::string_view text);

/// The non-empty parts between separators.
std::vector<std::string> split(const std::string& text, char separator);

/// The number that the whole text represents; empty if it is invalid or out of range.
template <class Number>
std::optional<Number> parsed(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stopped_at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stopped_at == end ? std::optional(number) : std::nullopt;
}

/// At most `digits` significant digits without trailing zeros: 9.25, 1024, 3.1e-07.
std::string significant(double value, int digits);

/// "row" for 1, otherwise "rows"; `many` is an irregular plural ("entries").
template <class Number>
std::string noun_for(Number count, std::string_view one, std::string_view many = {}) {
  if (count == 1) return std::string(one);
  return many.empty() ? std::string(one) + 's' : std::string(many);
}
/// "1 row", "2 rows".
template <class Integer>
std::string counted(Integer count, std::string_view one, std::string_view many = {}) {
  return std::to_string(count) + ' ' + noun_for(count, one, many);
}

/// Four significant digits in ns, µs, ms or s: "8.932 ms".
std::string time_text(double time_us);

/// The largest unit in which the smallest positive time is at least 1; nanoseconds if there is
/// none, and microseconds if no time is positive.
TimeUnit time_unit_for(const std::vector<double>& times_us);

/// Three significant digits in B, KiB, MiB or GiB: "256 MiB".
std::string bytes_text(double bytes);

}  // namespace gpuexp
