// Strict JSON (RFC 8259) read front to back without a tree, for files of hundreds of megabytes: no
// comments, no trailing commas, no byte order mark, valid UTF-8, bounded depth. The caller says
// what it takes the next value for, in the order of the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace gpuexp {

inline constexpr std::size_t kMaxJsonDepth = 64;

/// What breaks JSON's grammar, and where.
class JsonSyntaxError : public std::runtime_error {
 public:
  JsonSyntaxError(const std::string& what, std::size_t offset)
      : std::runtime_error(what), offset_(offset) {}
  std::size_t offset() const { return offset_; }

 private:
  std::size_t offset_;
};

struct TextPlace {
  std::size_t line;    ///< from 1
  std::size_t column;  ///< from 1, in bytes
};
TextPlace place_at(std::string_view text, std::size_t offset);

struct JsonNumber {
  double real = 0;
  std::optional<std::int64_t> integer = {};  ///< written without point and exponent, and of 64 bits
};

class JsonScanner {
 public:
  enum class Kind { null, boolean, number, string, array, object };

  /// The text outlives the scanner.
  explicit JsonScanner(std::string_view text) : text_(text) {}

  // All of these throw JsonSyntaxError.

  /// The kind of the next value, by its first character.
  Kind peek();
  /// The next value, which peek() says is of that kind.
  void null() { literal("null"); }
  bool boolean();
  JsonNumber number();
  /// Valid until the next value or name is read.
  std::string_view string();
  /// Calls member(name) for each member; it has to read the value. The name is valid until then.
  template <class Member>
  void object(const Member& member) {
    open();
    if (!closed('}')) {
      do {
        member(name());
      } while (!closed_after_comma('}'));
    }
    --depth_;
  }
  /// Calls item() for each item; it has to read it.
  template <class Item>
  void array(const Item& item) {
    open();
    if (!closed(']')) {
      do {
        item();
      } while (!closed_after_comma(']'));
    }
    --depth_;
  }
  /// Any value, checked for its syntax alone.
  void skip();
  /// Nothing follows.
  void end();

  /// After peek(): where the next value begins.
  std::size_t offset() const { return at_; }
  /// Reads on from an offset of a value at the given depth of containers.
  void seek(std::size_t offset, std::size_t depth) {
    at_ = offset;
    depth_ = depth;
  }
  std::size_t depth() const { return depth_; }

 private:
  [[noreturn]] void fail(const std::string& what, std::size_t offset) const;
  [[noreturn]] void expected(const char* what) const;
  bool at(char c) const { return at_ < text_.size() && text_[at_] == c; }
  void skip_space();
  void literal(std::string_view word);
  void digits();
  std::string_view name();
  std::string_view rest_of_string(std::size_t begin);
  void escape();
  char32_t hex4();
  void open();
  bool closed(char bracket);
  bool closed_after_comma(char bracket);

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  std::string unescaped_;
};

}  // namespace gpuexp
