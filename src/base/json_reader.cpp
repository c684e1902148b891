#include "base/json_reader.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <system_error>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "base/compressed.hpp"
#include "base/json_scanner.hpp"
#include "base/names.hpp"
#include "base/report_error.hpp"

namespace gpuexp {

namespace {

[[noreturn]] void fail_at(std::string_view text, std::size_t offset, std::string_view source,
                          std::string_view message) {
  const TextPlace place = place_at(text, offset);
  throw ConfigError(fmt::format("{}:{}:{}: {}", source, place.line, place.column, message));
}

// Builds the tree of a text. Rejects duplicate keys and integers of more than 64 bits.
class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, std::string_view source)
      : text_(text), source_(source), scanner_(text) {}

  Json build() {
    try {
      Json root = value();
      scanner_.end();
      return root;
    } catch (const JsonSyntaxError& e) {
      fail_at(text_, e.offset(), source_, e.what());
    }
  }

 private:
  Json value() {
    using Kind = JsonScanner::Kind;
    switch (scanner_.peek()) {
      case Kind::boolean: return scanner_.boolean();
      case Kind::number: return number();
      case Kind::string: return scanner_.string();
      case Kind::array: return array();
      case Kind::object: return object();
      case Kind::null: scanner_.null();
    }
    return nullptr;
  }

  Json number() {
    const std::size_t begin = scanner_.offset();
    const double real = scanner_.number().real;
    const std::string_view token = text_.substr(begin, scanner_.offset() - begin);
    if (token.find_first_of(".eE") != std::string_view::npos) return real;
    return token.front() == '-' ? whole<std::int64_t>(token, begin)
                                : whole<std::uint64_t>(token, begin);
  }

  template <class Integer>
  Json whole(std::string_view token, std::size_t begin) const {
    Integer value = 0;
    if (std::from_chars(token.data(), token.data() + token.size(), value).ec != std::errc())
      fail_at(text_, begin, source_, shorten(token) + " does not fit in 64 bits");
    return value;
  }

  Json array() {
    Json list = Json::array();
    open_.push_back(&list);
    scanner_.array([&] {
      Json& item = list.items().emplace_back();
      item = value();
    });
    open_.pop_back();
    return list;
  }

  // Finds equal names with a hash set; searches through the members would take quadratic time.
  Json object() {
    Json object = Json::object();
    std::unordered_set<std::string> names;
    open_.push_back(&object);
    scanner_.object([&](std::string_view name) {
      if (!names.emplace(name).second) {
        fail_at(text_, text_.rfind('"', scanner_.offset()), source_,
                fmt::format("{}: key {} is given twice", path(), describe(Json(name))));
      }
      Json& member = object.members().emplace_back(name, nullptr).second;
      member = value();
    });
    open_.pop_back();
    return object;
  }

  std::string path() const {
    std::string path = "$";
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
      const Json& json = *open_[i];
      path = json.is_array() ? item_path(path, json.size() - 1)
                             : member_path(path, json.members().back().first);
    }
    return path;
  }

  std::string_view text_;
  std::string_view source_;
  JsonScanner scanner_;
  std::vector<const Json*> open_;
};

}  // namespace

Json Json::parse(std::string_view text) {
  try {
    return TreeBuilder(text, "JSON").build();
  } catch (const ConfigError& e) {
    throw JsonError(e.what());
  }
}

Json read_json(std::string_view text, std::string_view source) {
  if (text.size() > kMaxJsonBytes)
    throw ConfigError(fmt::format("{}: is larger than {} MiB", source, kMaxJsonBytes >> 20));
  if (text.substr(0, 3) == "\xEF\xBB\xBF") {
    throw ConfigError(
        fmt::format("{}: starts with a byte order mark; save it as UTF-8 without one", source));
  }
  const std::size_t nul = text.find('\0');
  if (nul != std::string_view::npos) fail_at(text, nul, source, "contains a NUL byte");
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
