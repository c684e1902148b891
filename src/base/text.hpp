// Text for people: widths on a terminal, numbers with few digits, times in a fitting unit.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

/// The unit in which a sorted column or an axis shows all of its times.
struct TimeUnit {
  double us = 1;                 ///< that one of it takes
  std::string_view name = "µs";  ///< "ns", "µs", "ms" or "s"
};

/// Columns that UTF-8 text takes on a terminal: combining marks take none, East Asian wide
/// characters and emoji two (Unicode Standard Annex 11). A byte that is not UTF-8 takes one.
std::size_t display_width(std::string_view text);

/// The text on one line, with control characters (a report may come from anywhere, and they steer
/// terminals) as spaces and bytes that are not UTF-8 as '?'.
std::string printable(std::string_view text);

/// The same for a terminal without UTF-8: signs of this program in ASCII, all else as '?'.
std::string to_ascii(std::string_view text);

std::string pad_left(const std::string& text, std::size_t width);
std::string pad_right(const std::string& text, std::size_t width);

/// Words of the text in lines of at most `width` columns; a longer word has a line of its own.
std::vector<std::string> wrap(const std::string& text, std::size_t width);

/// The same as one text: every line starts with `indent` spaces and ends in a newline.
std::string paragraph(const std::string& text, std::size_t width, std::size_t indent);

/// A bar for value in [0, full], `width` columns when full, in eighths of a column and padded with
/// spaces. Any value above 0 shows.
std::string bar(double value, double full, std::size_t width);

/// Decimals that all numbers of a column share: four significant digits for the largest, at least
/// two for the smallest, none when all are whole. Empty where that takes more than five.
std::optional<int> decimals_for(const std::vector<double>& values);

/// A column of numbers, with the decimals that they share or, where they share none, three digits
/// each; "" for what is missing.
std::vector<std::string> number_texts(const std::vector<std::optional<double>>& values);

/// The text with ASCII letters in lower case; other bytes stay as they are.
std::string lower_case(std::string_view text);

/// What stands between separators, without what is empty.
std::vector<std::string> split(const std::string& text, char separator);

/// The number that the whole text spells; empty if it spells none, or one out of range.
template <class Number>
std::optional<Number> parsed(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stopped_at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stopped_at == end ? std::optional(number) : std::nullopt;
}

/// At most `digits` significant digits, without trailing zeros: 9.25, 1024, 3.1e-07.
std::string significant(double value, int digits);

/// "row" of 1, else "rows"; `many` is the plural if it is not the noun with an s ("entries").
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

/// The largest unit in which the smallest positive time is 1 or more; nanoseconds if there is no
/// such unit.
TimeUnit time_unit_for(const std::vector<double>& times_us);

/// Three significant digits in B, KiB, MiB or GiB: "256 MiB".
std::string bytes_text(double bytes);

}  // namespace gpuexp
