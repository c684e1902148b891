#include "sim/device_printf.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "base/text_parts.hpp"

namespace gpuexp::sim {

namespace {

constexpr int kMaxArguments = 32;
constexpr int kMaxWidth = 4096;

/// "%-8.3lld" has the flags "-", the width 8, the precision 3, the size "ll" and the type 'd'.
struct Specifier {
  std::string flags;
  std::optional<int> width;
  bool width_is_argument = false;
  std::optional<int> precision;
  std::string size;
  char type = 0;

  bool is_integer() const {
    return std::string_view("diouxX").find(type) != std::string_view::npos;
  }
  bool is_real() const { return std::string_view("eEfFgGaA").find(type) != std::string_view::npos; }
};

std::string take_all(std::string_view& text, std::string_view characters) {
  const std::size_t end = std::min(text.find_first_not_of(characters), text.size());
  std::string taken(text.substr(0, end));
  text.remove_prefix(end);
  return taken;
}

// Removes a specifier without its % from the text. Empty if CUDA has no such specifier.
std::optional<Specifier> take_specifier(std::string_view& text) {
  Specifier s;
  s.flags = take_all(text, "-+ #0");
  s.width_is_argument = text.starts_with('*');
  if (s.width_is_argument) {
    text.remove_prefix(1);
  } else {
    s.width = take_number<int>(text);
  }
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (text.starts_with('*')) return std::nullopt;
    s.precision = take_number<int>(text).value_or(0);
  }
  s.size = take_all(text, "hl");
  if (text.empty()) return std::nullopt;
  s.type = text.front();
  text.remove_prefix(1);
  const bool is_known =
      s.is_integer() || s.is_real() || s.type == 'c' || s.type == 's' || s.type == 'p';
  const bool is_short = s.width.value_or(0) <= kMaxWidth && s.precision.value_or(0) <= kMaxWidth;
  return is_known && is_short && s.size.size() <= 2 ? std::optional(s) : std::nullopt;
}

class Formatter {
 public:
  explicit Formatter(const PrintfArguments& arguments) : arguments_(arguments) {}

  PrintfResult format(std::string_view format);

 private:
  std::uint64_t next(std::size_t bytes);
  void add(Specifier s, std::string_view as_written);
  template <class Value>
  void print(const Specifier& s, const std::string& type, Value value);
  void print_integer(const Specifier& s);

  const PrintfArguments& arguments_;
  PrintfResult result_;
  std::size_t offset_ = 0;
};

std::uint64_t Formatter::next(std::size_t bytes) {
  ++result_.arguments;
  const std::size_t at = (offset_ + bytes - 1) / bytes * bytes;
  offset_ = at + bytes;
  return arguments_.value(at, bytes);
}

template <class Value>
void Formatter::print(const Specifier& s, const std::string& type, Value value) {
  const std::string format =
      fmt::format("%{}{}{}{}", s.flags, s.width ? std::to_string(*s.width) : "",
                  s.precision ? fmt::format(".{}", *s.precision) : "", type);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  const int length = std::snprintf(nullptr, 0, format.c_str(), value);
  if (length <= 0) return;
  const std::size_t before = result_.text.size();
  result_.text.resize(before + static_cast<std::size_t>(length) + 1);
  std::snprintf(result_.text.data() + before, static_cast<std::size_t>(length) + 1, format.c_str(),
                value);
#pragma GCC diagnostic pop
  result_.text.pop_back();
}

void Formatter::print_integer(const Specifier& s) {
  const bool is_signed = s.type == 'd' || s.type == 'i';
  const bool is_long = s.size.starts_with('l');
  std::uint64_t value = next(is_long ? 8 : 4);
  if (is_signed && !is_long)
    value = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(value)});
  if (s.size == "h")
    value = is_signed ? static_cast<std::uint64_t>(std::int64_t{static_cast<std::int16_t>(value)})
                      : static_cast<std::uint16_t>(value);
  if (s.size == "hh")
    value = is_signed ? static_cast<std::uint64_t>(std::int64_t{static_cast<std::int8_t>(value)})
                      : static_cast<std::uint8_t>(value);
  print(s, fmt::format("ll{}", s.type), static_cast<unsigned long long>(value));
}

void Formatter::add(Specifier s, std::string_view as_written) {
  const int needed = s.width_is_argument ? 2 : 1;
  if (result_.arguments + needed > kMaxArguments) {
    result_.text += as_written;
    return;
  }
  if (s.width_is_argument) {
    const auto width = static_cast<std::int32_t>(next(4));
    if (width < 0) s.flags += '-';
    s.width = static_cast<int>(std::min<std::int64_t>(std::abs(std::int64_t{width}), kMaxWidth));
  }
  if (s.is_integer()) {
    print_integer(s);
  } else if (s.is_real()) {
    print(s, std::string(1, s.type), std::bit_cast<double>(next(8)));
  } else if (s.type == 'c') {
    print(s, "c", static_cast<int>(next(4)));
  } else if (s.type == 'p') {
    print(s, "p", reinterpret_cast<void*>(next(8)));
  } else {
    const std::uint64_t address = next(8);
    const std::string text = address == 0 ? "(null)" : arguments_.text(address);
    print(s, "s", text.c_str());
  }
}

PrintfResult Formatter::format(std::string_view format) {
  while (!format.empty()) {
    const std::size_t plain = std::min(format.find('%'), format.size());
    result_.text += format.substr(0, plain);
    format.remove_prefix(plain);
    if (format.starts_with("%%")) {
      result_.text += '%';
      format.remove_prefix(2);
      continue;
    }
    if (format.empty()) break;
    std::string_view rest = format.substr(1);
    const auto specifier = take_specifier(rest);
    const std::string_view as_written = format.substr(0, format.size() - rest.size());
    if (specifier) {
      add(*specifier, as_written);
      format = rest;
    } else {
      result_.text += '%';
      format.remove_prefix(1);
    }
  }
  return result_;
}

}  // namespace

PrintfResult format_printf(std::string_view format, const PrintfArguments& arguments) {
  return Formatter(arguments).format(format);
}

}  // namespace gpuexp::sim
