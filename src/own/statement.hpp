// One statement of a declaration, consumed from its front.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "own/declaration.hpp"

namespace gpuexp::own {

/// The statement of an entry of a JSON file: a prefix that the entry's key implies, such as "n = ",
/// and the entry's value, in which a name may be inserted.
struct EntryStatement {
  std::shared_ptr<const JsonEntry> entry;
  std::string text;
  std::size_t prefix_size = 0;
  std::size_t name_begin = 0;  ///< offset of the inserted name in `text`
  std::size_t name_size = 0;

  /// The place of the character at this offset in `text`.
  Place place_at(std::size_t offset) const;
};

class Statement {
 public:
  /// `text` is a part of `whole`, the file's line with this number. Both, and the name of the file,
  /// must outlive the statement.
  Statement(const std::string& file, int line, std::string_view whole, std::string_view text)
      : file_(&file), line_(line), whole_(whole), rest_(text) {}
  /// Both must outlive the statement.
  Statement(const std::string& file, const EntryStatement& entry)
      : file_(&file), whole_(entry.text), rest_(entry.text), entry_(&entry) {}

  /// Place of the next character that is not blank.
  Place place() const;
  /// The text that is left, without blanks around it.
  std::string_view rest() const;
  bool is_empty() const { return rest().empty(); }
  /// The next words for a message: "'x[n]'", "the end of the line" or "the end of the value".
  std::string found() const;

  [[noreturn]] void fail(const std::string& message) const { own::fail(*file_, place(), message); }
  [[noreturn]] void fail_at(const Place& place, const std::string& message) const {
    own::fail(*file_, place, message);
  }
  void expect_end() const;

  bool takes(std::string_view mark);
  void expect(std::string_view mark, std::string_view after);
  /// Takes the word, unless it is the beginning of a longer name.
  bool takes_word(std::string_view word);
  /// Takes a word that begins a statement, unless it is a name that the statement declares or
  /// launches: in "in[n]", "in = 4" and "in<<<1, 32>>>", `in` is a name.
  bool takes_keyword(std::string_view word);
  std::string name(std::string_view what);
  /// Takes a name, if the statement begins with one.
  bool takes_name();
  /// Takes the rest.
  std::string_view take_rest();

  PlacedExpression expression();
  /// The expression that extends to the end of the statement. Only this one may contain '>' outside
  /// parentheses.
  PlacedExpression last_expression();
  DeclaredCheck check();
  /// An argument of a template, up to the next ',' or '>' outside of brackets.
  DeclaredTemplateArgument template_argument();

 private:
  void skip_blanks() { rest_.remove_prefix(rest_.size() - from_next().size()); }
  std::string_view from_next() const;

  const std::string* file_;
  int line_ = 0;
  std::string_view whole_;
  std::string_view rest_;
  const EntryStatement* entry_ = nullptr;
};

}  // namespace gpuexp::own
