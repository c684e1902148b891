// Text for people: display widths, rounded numbers, and times in a suitable unit.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

struct TimeUnit {
  double us = 1;  ///< microseconds in one unit
  std::string_view name = "µs";
};

/// Number of terminal columns of UTF-8 text: 0 for combining marks, 2 for East Asian wide
/// characters and emoji (Unicode Standard Annex 11), 1 for each other character or invalid byte.
std::size_t display_width(std::string_view text);

/// The text on one line. Control characters, which could control the terminal, become spaces;
/// invalid bytes become '?'.
std::string printable(std::string_view text);

/// The text for a terminal without UTF-8: this program's symbols become ASCII, other characters
/// '?'.
std::string to_ascii(std::string_view text);

std::string pad_left(const std::string& text, std::size_t width);
std::string pad_right(const std::string& text, std::size_t width);

/// Wraps words into lines of at most `width` columns. A longer word has a line of its own.
std::vector<std::string> wrap(const std::string& text, std::size_t width);

/// Wraps words into lines that start with `indent` spaces and end in a newline.
std::string paragraph(const std::string& text, std::size_t width, std::size_t indent);

/// A bar for a value in [0, full], padded to `width` columns, in steps of 1/8 column. Positive
/// values are always visible.
std::string bar(double value, double full, std::size_t width);

/// Number of decimals for all numbers of a column: four significant digits for the largest
/// number, at least two for the smallest, no decimals if all are integers. Empty if more than five
/// decimals would be necessary, or if a number has a magnitude of 10^15 or more.
std::optional<int> decimals_for(const std::vector<double>& values);

/// Texts of a column of numbers, with the same number of decimals if decimals_for() has a result,
/// otherwise with three significant digits each. Missing numbers are "".
std::vector<std::string> number_texts(const std::vector<std::optional<double>>& values);

std::string lower_case(std::string_view text);

/// The text as one word of a POSIX shell: in single quotes if it is empty or has characters other
/// than letters, digits and - _ . / = : , + @ %.
std::string shell_word(std::string_view text);

/// The non-empty strings between separators.
std::vector<std::string> split(const std::string& text, char separator);

/// The number in the text; empty if the text has other characters or the number is out of range.
template <class Number>
std::optional<Number> parsed(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stopped_at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stopped_at == end ? std::optional(number) : std::nullopt;
}

/// Text with at most `digits` significant digits and no trailing zeros: 9.25, 1024, 3.1e-07.
std::string significant(double value, int digits);

/// `one` if count is 1, otherwise the plural: `many`, or `one` with an s.
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

/// The largest unit in which the smallest positive time is at least 1; nanoseconds if there is no
/// such unit, microseconds if no time is positive.
TimeUnit time_unit_for(const std::vector<double>& times_us);

/// Three significant digits in B, KiB, MiB or GiB: "256 MiB".
std::string bytes_text(double bytes);

}  // namespace gpuexp
