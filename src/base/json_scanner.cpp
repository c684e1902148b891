#include "base/json_scanner.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/utf8.hpp"

namespace gpuexp {

namespace {

// One-byte characters that need no escape in a string.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x80; ++c)
    plain[c] = c != '"' && c != '\\';
  return plain;
}();

bool is_plain(char c) {
  return kPlain[static_cast<unsigned char>(c)];
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string found_at(std::string_view text, std::size_t offset) {
  if (offset >= text.size()) return "the end of the text";
  const char c = text[offset];
  const bool is_graphic = c > 0x20 && c < 0x7F;
  return is_graphic ? fmt::format("'{}'", c)
                    : fmt::format("byte 0x{:02X}", static_cast<unsigned char>(c));
}

}  // namespace

TextPlace place_at(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line_ends = std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {1 + static_cast<std::size_t>(line_ends), 1 + before.size() - line_start};
}

void JsonScanner::fail(const std::string& what, std::size_t offset) const {
  throw JsonSyntaxError(what, offset);
}

void JsonScanner::expected(const char* what) const {
  fail(fmt::format("expected {}, found {}", what, found_at(text_, at_)), at_);
}

void JsonScanner::skip_space() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') break;
    ++at_;
  }
}

JsonScanner::Kind JsonScanner::peek() {
  skip_space();
  if (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '"') return Kind::string;
    if (c == '-' || is_digit(c)) return Kind::number;
    if (c == 'n') return Kind::null;
    if (c == '{') return Kind::object;
    if (c == '[') return Kind::array;
    if (c == 't' || c == 'f') return Kind::boolean;
  }
  expected("a value");
}

void JsonScanner::literal(std::string_view word) {
  if (text_.substr(at_, word.size()) != word) fail(fmt::format("expected {}", word), at_);
  at_ += word.size();
}

bool JsonScanner::boolean() {
  const bool value = at('t');
  literal(value ? "true" : "false");
  return value;
}

void JsonScanner::digits() {
  if (at_ >= text_.size() || !is_digit(text_[at_])) expected("a digit");
  while (at_ < text_.size() && is_digit(text_[at_]))
    ++at_;
}

JsonNumber JsonScanner::number() {
  const std::size_t begin = at_;
  if (at('-')) ++at_;
  if (at('0')) {
    ++at_;
  } else {
    digits();
  }
  const std::size_t whole_end = at_;
  if (at('.')) {
    ++at_;
    digits();
  }
  if (at('e') || at('E')) {
    ++at_;
    if (at('+') || at('-')) ++at_;
    digits();
  }
  const char* const first = text_.data() + begin;
  const char* const last = text_.data() + at_;
  JsonNumber number;
  if (whole_end == at_) {
    std::int64_t integer = 0;
    if (std::from_chars(first, last, integer).ec == std::errc()) {
      number.integer = integer;
      number.real = static_cast<double>(integer);
      return number;
    }
  }
  if (std::from_chars(first, last, number.real).ec == std::errc()) return number;
  // strtod returns zero or a subnormal for a number that is too small, and infinity, which is an
  // error, for a number that is too large.
  number.real = std::strtod(std::string(first, last).c_str(), nullptr);
  if (!std::isfinite(number.real))
    fail(shorten({first, last}) + " is beyond the range of a double", begin);
  return number;
}

std::string_view JsonScanner::string() {
  const std::size_t begin = ++at_;
  while (at_ < text_.size() && is_plain(text_[at_]))
    ++at_;
  if (at('"')) return text_.substr(begin, at_++ - begin);
  return rest_of_string(begin);
}

std::string_view JsonScanner::rest_of_string(std::size_t begin) {
  unescaped_.assign(text_.substr(begin, at_ - begin));
  while (!at('"')) {
    if (at_ >= text_.size()) expected("the '\"' that ends a string");
    const char c = text_[at_];
    if (c == '\\') {
      escape();
      continue;
    }
    if (is_plain(c)) {
      unescaped_ += c;
      ++at_;
      continue;
    }
    const CodePoint character = decode_utf8(text_.substr(at_));
    if (!character.value) fail(found_at(text_, at_) + " is not UTF-8", at_);
    if (*character.value < 0x20) fail(found_at(text_, at_) + " in a string must be escaped", at_);
    unescaped_ += text_.substr(at_, character.bytes);
    at_ += character.bytes;
  }
  ++at_;
  return unescaped_;
}

void JsonScanner::escape() {
  constexpr std::string_view kEscapes = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  const std::size_t begin = at_++;
  if (at('u')) {
    ++at_;
    char32_t c = hex4();
    if (c >= 0xD800 && c < 0xDC00 && text_.substr(at_, 2) == "\\u") {
      at_ += 2;
      const char32_t low = hex4();
      c = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((c - 0xD800) << 10U) + (low - 0xDC00) : c;
    }
    if (c >= 0xD800 && c < 0xE000) fail("unpaired surrogate", begin);
    append_utf8(unescaped_, c);
    return;
  }
  const std::size_t index = at_ < text_.size() ? kEscapes.find(text_[at_]) : std::string_view::npos;
  if (index == std::string_view::npos) expected("one of \" \\ / b f n r t u after '\\'");
  unescaped_ += kMeanings[index];
  ++at_;
}

char32_t JsonScanner::hex4() {
  constexpr std::size_t kDigits = 4;
  std::uint32_t value = 0;
  const std::size_t end = std::min(at_ + kDigits, text_.size());
  const auto [stopped_at, error] =
      std::from_chars(text_.data() + at_, text_.data() + end, value, 16);
  const bool is_whole = error == std::errc() && stopped_at == text_.data() + at_ + kDigits;
  if (!is_whole) fail("expected four hexadecimal digits after '\\u'", at_);
  at_ += kDigits;
  return value;
}

std::string_view JsonScanner::name() {
  skip_space();
  if (!at('"')) expected("a member's name");
  const std::string_view name = string();
  skip_space();
  if (!at(':')) expected("':'");
  ++at_;
  return name;
}

void JsonScanner::open() {
  if (++depth_ > kMaxJsonDepth)
    fail(fmt::format("nested more than {} levels deep", kMaxJsonDepth), at_);
  ++at_;
}

bool JsonScanner::closed(char bracket) {
  skip_space();
  if (!at(bracket)) return false;
  ++at_;
  return true;
}

bool JsonScanner::closed_after_comma(char bracket) {
  if (closed(bracket)) return true;
  if (!at(',')) expected(bracket == '}' ? "',' or '}'" : "',' or ']'");
  ++at_;
  return false;
}

// Recursive. open() limits the depth.
void JsonScanner::skip() {
  switch (peek()) {
    case Kind::null: null(); return;
    case Kind::boolean: boolean(); return;
    case Kind::number: number(); return;
    case Kind::string: string(); return;
    case Kind::array: array([this] { skip(); }); return;
    case Kind::object: object([this](std::string_view) { skip(); }); return;
  }
}

void JsonScanner::end() {
  skip_space();
  if (at_ < text_.size()) expected("nothing after the value");
}

}  // namespace gpuexp
