// Reads strict JSON (RFC 8259) sequentially without a tree, for files of hundreds of megabytes:
// no comments, trailing commas or byte order mark; only valid UTF-8; bounded depth. The caller
// requests each value in the order of the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace gpuexp {

inline constexpr std::size_t kMaxJsonDepth = 64;

/// A violation of JSON's grammar, with its byte offset.
class JsonSyntaxError : public std::runtime_error {
 public:
  JsonSyntaxError(const std::string& what, std::size_t offset)
      : std::runtime_error(what), offset_(offset) {}
  std::size_t offset() const { return offset_; }

 private:
  std::size_t offset_;
};

struct TextPlace {
  std::size_t line;
  std::size_t column;  ///< starts at 1, in bytes
};
TextPlace place_at(std::string_view text, std::size_t offset);

struct JsonNumber {
  double real = 0;
  std::optional<std::int64_t> integer = {};  ///< set if without point or exponent, and in int64
};

class JsonScanner {
 public:
  enum class Kind { null, boolean, number, string, array, object };

  /// `text` must outlive the scanner.
  explicit JsonScanner(std::string_view text) : text_(text) {}

  // All functions below throw JsonSyntaxError.

  /// The kind of the next value, from its first character.
  Kind peek();
  /// The next functions read the next value, which must have the kind that peek() returned.
  void null() { literal("null"); }
  bool boolean();
  JsonNumber number();
  /// The result is valid until the next value or name is read.
  std::string_view string();
  /// Calls member(name) for each member. The callback must read the value; reading invalidates
  /// the name.
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
  /// Reads a value of any kind, and checks only its syntax.
  void skip();
  /// Fails if anything except white space follows.
  void end();

  /// Offset of the next value, after a call of peek().
  std::size_t offset() const { return at_; }
  /// Continues at the offset of a value with `depth` containers around it.
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
