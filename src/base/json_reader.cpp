#include "base/json_reader.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/compressed.hpp"
#include "base/json.hpp"
#include "base/names.hpp"
#include "base/report_error.hpp"

namespace gpuexp {

namespace {

[[noreturn]] void fail_at(std::string_view text, std::size_t offset, std::string_view source,
                          std::string_view message) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  throw ConfigError(
      fmt::format("{}:{}:{}: {}", source, line, before.size() - line_start + 1, message));
}

// The parser reads through this iterator, so that errors it does not find itself have a place too.
class Cursor {
 public:
  // NOLINTBEGIN(readability-identifier-naming): the names that std::iterator_traits looks for
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  // NOLINTEND(readability-identifier-naming)

  Cursor(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  Cursor operator++(int) {
    const Cursor before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Cursor& a, const Cursor& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  const char** reached_;
};

// The library's text is "[id] parse error at line 3, column 5: syntax error while parsing object -
// invalid literal; last read: '<token>'; expected '}'". The place is told already, and the token
// may be of any length and hold any bytes.
std::string explanation(std::string_view what) {
  const std::size_t found = what.find("syntax error while");
  std::string text(found == std::string_view::npos ? what : what.substr(found));
  const std::size_t token = text.find("; last read: '");
  if (token != std::string::npos) {
    const std::size_t expected = text.rfind("; expected ");
    text.erase(token, expected != std::string::npos && expected > token ? expected - token
                                                                        : std::string::npos);
  }
  return text;
}

// Builds the tree from the parser's events and checks what the parser does not.
class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, std::string_view source)
      : text_(text), source_(source), reached_(text.data()) {}

  Json build() {
    const Cursor first(text_.data(), &reached_);
    const Cursor last(text_.data() + text_.size(), &reached_);
    nlohmann::ordered_json::sax_parse(first, last, this);
    return std::move(root_);
  }

  // The events of nlohmann::json_sax.
  bool null() { return add(Json(nullptr)); }
  bool boolean(bool value) { return add(Json(value)); }
  bool number_integer(std::int64_t value) { return add(Json(value)); }
  bool number_unsigned(std::uint64_t value) { return add(Json(value)); }
  bool number_float(double value, const std::string& token) {
    // The parser falls back to double for integers of more than 64 bits.
    if (token.find_first_of(".eE") == std::string::npos)
      fail_at(text_, start_of(token), source_, shorten(token) + " does not fit in 64 bits");
    return add(Json(value));
  }
  bool string(std::string& value) { return add(Json(std::move(value))); }
  bool binary(nlohmann::ordered_json::binary_t&) { return false; }  // not in JSON text
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    Container& container = open_.back();
    if (!container.keys.insert(name).second) {
      fail_at(text_, offset() - 1, source_,
              fmt::format("{}: key {} is given twice", path(), describe(Json(name))));
    }
    container.key = std::move(name);
    return true;
  }

  template <class Exception>
  bool parse_error(std::size_t consumed, const std::string& token, const Exception& error) {
    const std::string why = explanation(error.what());
    const auto says = [&](std::string_view part) { return why.find(part) != why.npos; };
    // `token` starts with the last string or number; where that is not what is wrong, the last
    // character consumed is.
    const bool overflow = says("number overflow");
    const bool is_token = overflow || says("unexpected string") || says("unexpected number");
    const std::size_t at = consumed - (is_token ? token.size() : 1);
    if (overflow) fail_at(text_, at, source_, shorten(token) + " is beyond the range of a double");
    fail_at(text_, at, source_, why);
  }

 private:
  struct Container {
    Json* json;
    std::string key;                       // of the member being read
    std::unordered_set<std::string> keys;  // of the members read so far
  };

  std::size_t offset() const { return static_cast<std::size_t>(reached_ - text_.data()); }
  std::size_t start_of(std::string_view token) const {
    return text_.rfind(token, offset() - token.size());
  }

  bool add(Json value) {
    place(std::move(value));
    return true;
  }

  // Appends without the search for an equal key that the library's own insertion makes: it would be
  // quadratic in the number of members.
  Json& place(Json value) {
    if (open_.empty()) return root_ = std::move(value);
    Container& container = open_.back();
    if (container.json->is_array()) {
      auto& items = container.json->items();
      return items.emplace_back(std::move(value));
    }
    auto& members = container.json->members();
    return members.emplace_back(std::move(container.key), std::move(value)).second;
  }

  bool open(Json empty) {
    if (open_.size() == kMaxJsonDepth) {
      fail_at(text_, offset() - 1, source_,
              fmt::format("nested more than {} levels deep", kMaxJsonDepth));
    }
    Json& placed = place(std::move(empty));
    open_.push_back({&placed, {}, {}});
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  // The innermost open container, as a JSON path.
  std::string path() const {
    std::string path = "$";
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
      const Json& json = *open_[i].json;
      path = json.is_array() ? item_path(path, json.size() - 1)
                             : member_path(path, json.members().back().first);
    }
    return path;
  }

  std::string_view text_;
  std::string_view source_;
  const char* reached_;
  Json root_;
  // A container does not grow while one of its items is open, so the pointers stay valid.
  std::vector<Container> open_;
};

}  // namespace

Json read_json(std::string_view text, std::string_view source) {
  if (text.size() > kMaxJsonBytes)
    throw ConfigError(fmt::format("{}: is larger than {} MiB", source, kMaxJsonBytes >> 20));
  if (text.substr(0, 3) == "\xEF\xBB\xBF") {
    throw ConfigError(
        fmt::format("{}: starts with a byte order mark; save it as UTF-8 without one", source));
  }
  // The parser takes a NUL for the end of its input.
  const std::size_t nul = text.find('\0');
  if (nul != std::string_view::npos) fail_at(text, nul, source, "holds a NUL byte");
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    throw ConfigError(fmt::format("{}: is empty; expected a JSON object", source));
  return TreeBuilder(text, source).build();
}

std::string read_text_file(const std::filesystem::path& path) {
  const std::string source = path.string();
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found)
    throw ConfigError(source + ": no such file");
  if (error) throw ConfigError(fmt::format("{}: cannot be read: {}", source, error.message()));
  if (std::filesystem::is_directory(status))
    throw ConfigError(source + ": is a directory; expected a JSON file");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 1 << 14> part;
  while (file && text.size() <= kMaxJsonBytes) {
    file.read(part.data(), part.size());
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
  }
  text.resize(std::min(text.size(), kMaxJsonBytes + 1));
  if (!file.is_open() || file.bad())
    throw ConfigError(fmt::format("{}: cannot be read: {}", source, std::strerror(errno)));
  if (!is_compressed(text)) return text;
  try {
    return decompressed(text, source, kMaxJsonBytes);
  } catch (const ReportError& e) {
    throw ConfigError(e.what());
  }
}

std::string member_path(std::string_view path, std::string_view key) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$';
  };
  if (!key.empty() && key == shorten(key) && std::all_of(key.begin(), key.end(), is_plain))
    return fmt::format("{}.{}", path, key);
  return fmt::format("{}[{}]", path, describe(Json(key)));
}

std::string item_path(std::string_view path, std::size_t index) {
  return fmt::format("{}[{}]", path, index);
}

std::string describe(const Json& json) {
  if (json.is_object()) return json.empty() ? "an empty object" : "an object";
  if (json.is_array()) return json.empty() ? "an empty list" : "a list";
  return shorten(json.dump(-1));
}

}  // namespace gpuexp
