#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/utf8.hpp"

namespace gpuexp {

namespace {

constexpr std::array<TimeUnit, 4> kTimeUnits{{{1e6, "s"}, {1e3, "ms"}, {1, "µs"}, {1e-3, "ns"}}};

template <class Visit>
void for_each_code_point(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text.front());
    const CodePoint c = first < 0x80 ? CodePoint{char32_t{first}, 1} : decode_utf8(text);
    visit(c, text.substr(0, c.bytes));
    text.remove_prefix(c.bytes);
  }
}

using Range = std::pair<char32_t, char32_t>;

template <std::size_t kCount>
bool within(const std::array<Range, kCount>& ranges, char32_t c) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [c](const Range& r) { return c >= r.first && c <= r.second; });
}

std::size_t width_of(char32_t c) {
  static constexpr std::array<Range, 5> kCombining{
      {{0x0300, 0x036F}, {0x1AB0, 0x1AFF}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}}};
  static constexpr std::array<Range, 8> kWide{{{0x1100, 0x115F},
                                               {0x2E80, 0x303E},
                                               {0x3041, 0xA4CF},
                                               {0xAC00, 0xD7A3},
                                               {0xF900, 0xFAFF},
                                               {0xFF00, 0xFF60},
                                               {0x1F300, 0x1FAFF},
                                               {0x20000, 0x3FFFD}}};
  if (within(kCombining, c)) return 0;
  return within(kWide, c) ? 2 : 1;
}

bool is_control(char32_t c) {
  const bool bidirectional = (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 || bidirectional;
}

std::string_view ascii_for(char32_t c) {
  switch (c) {
    case U'µ': return "u";
    case U'×': return "x";
    case U'±': return "+/-";
    case U'°': return "";
    case U'→': return "->";
    case U'…': return "...";
    case U'–':
    case U'—':
    case U'─': return "-";
    case U'·': return "|";
    case U'≥': return ">=";
    case U'≤': return "<=";
    case U'█':
    case U'▉':
    case U'▊':
    case U'▋':
    case U'▌': return "#";
    case U'▍':
    case U'▎':
    case U'▏': return ".";
    default: return "?";
  }
}

int exponent_of(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  return static_cast<int>(std::floor(std::log10(std::abs(value))));
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for_each_code_point(text, [&](const CodePoint& c, std::string_view) {
    width += c.value ? width_of(*c.value) : 1;
  });
  return width;
}

std::string printable(std::string_view text) {
  std::string result;
  for_each_code_point(text, [&](const CodePoint& c, std::string_view bytes) {
    if (!c.value) {
      result += '?';
    } else if (is_control(*c.value)) {
      result += ' ';
    } else {
      result += bytes;
    }
  });
  return result;
}

std::string to_ascii(std::string_view text) {
  std::string result;
  for_each_code_point(text, [&](const CodePoint& c, std::string_view bytes) {
    if (c.value && *c.value < 0x80) {
      result += bytes;
    } else {
      result += c.value ? ascii_for(*c.value) : "?";
    }
  });
  return result;
}

std::string pad_left(const std::string& text, std::size_t width) {
  const std::size_t taken = display_width(text);
  return taken >= width ? text : std::string(width - taken, ' ') + text;
}

std::string pad_right(const std::string& text, std::size_t width) {
  const std::size_t taken = display_width(text);
  return taken >= width ? text : text + std::string(width - taken, ' ');
}

std::vector<std::string> wrap(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    if (!lines.empty() && display_width(lines.back()) + 1 + display_width(word) <= width) {
      lines.back() += ' ' + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

std::string bar(double value, double full, std::size_t width) {
  constexpr std::array<std::string_view, 8> kPartial{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  constexpr std::size_t kEighths = 8;
  const double share = full > 0 ? std::clamp(value / full, 0.0, 1.0) : 0.0;
  if (width == 0) return "";
  auto eighths =
      static_cast<std::size_t>(std::lround(share * static_cast<double>(width * kEighths)));
  if (value > 0) eighths = std::max<std::size_t>(eighths, 1);
  std::string text;
  for (std::size_t i = 0; i < eighths / kEighths; ++i)
    text += "█";
  text += kPartial.at(eighths % kEighths);
  return pad_right(text, width);
}

std::optional<int> decimals_for(const std::vector<double>& values) {
  constexpr int kMaxDecimals = 5;
  constexpr double kHuge = 1e15;
  bool whole = true;
  double largest = 0;
  double smallest = 0;
  for (const double v : values) {
    const double magnitude = std::abs(v);
    whole = whole && v == std::floor(v);
    largest = std::max(largest, magnitude);
    if (magnitude > 0 && (smallest == 0 || magnitude < smallest)) smallest = magnitude;
  }
  if (!(largest < kHuge)) return std::nullopt;
  if (whole) return 0;
  const int decimals = std::max({3 - exponent_of(largest), 1 - exponent_of(smallest), 0});
  return decimals <= kMaxDecimals ? std::optional(decimals) : std::nullopt;
}

std::vector<std::string> number_texts(const std::vector<std::optional<double>>& values) {
  constexpr int kDigits = 3;
  std::vector<double> known;
  for (const auto& value : values) {
    if (value) known.push_back(*value);
  }
  const auto decimals = decimals_for(known);
  std::vector<std::string> texts;
  for (const auto& value : values) {
    texts.push_back(!value     ? ""
                    : decimals ? fmt::format("{:.{}f}", *value, *decimals)
                               : significant(*value, kDigits));
  }
  return texts;
}

std::string significant(double value, int digits) {
  const double rounded = std::strtod(fmt::format("{:.{}e}", value, digits - 1).c_str(), nullptr);
  // Writes all digits before the point of numbers below 10^15; exponents below -4 use scientific
  // notation.
  const int before_point = exponent_of(rounded) + 1;
  return fmt::format("{:.{}g}", rounded,
                     before_point > 15 ? digits : std::max(digits, before_point));
}

std::string time_text(double time_us) {
  constexpr int kDigits = 4;
  // Rounds before the choice of the unit, so that 999.96 µs becomes 1.000 ms.
  const double rounded = std::strtod(fmt::format("{:.{}e}", time_us, kDigits - 1).c_str(), nullptr);
  const auto unit = std::find_if(kTimeUnits.begin(), kTimeUnits.end() - 1,
                                 [&](const TimeUnit& u) { return rounded >= u.us; });
  const double value = rounded / unit->us;
  const int decimals = std::clamp(kDigits - 1 - exponent_of(value), 0, kDigits - 1);
  return fmt::format("{:.{}f} {}", value, decimals, unit->name);
}

TimeUnit time_unit_for(const std::vector<double>& times_us) {
  double smallest = 0;
  for (const double time : times_us) {
    if (time > 0 && (smallest == 0 || time < smallest)) smallest = time;
  }
  if (smallest == 0) return {};
  for (const TimeUnit& unit : kTimeUnits) {
    if (smallest >= unit.us) return unit;
  }
  return kTimeUnits.back();
}

std::string paragraph(const std::string& text, std::size_t width, std::size_t indent) {
  std::string result;
  for (const std::string& line : wrap(text, width - indent)) {
    result += std::string(indent, ' ') + line + '\n';
  }
  return result;
}

std::string bytes_text(double bytes) {
  constexpr double kStep = 1024.0;
  const char* const units[] = {"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  for (; unit < 3 && bytes >= kStep; ++unit)
    bytes /= kStep;
  return significant(bytes, 3) + " " + units[unit];
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == text.npos) return std::string(text);
  std::string word = "'";
  for (const char c : text)
    word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace gpuexp
