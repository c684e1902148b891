#include "own/statement.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/text_parts.hpp"

namespace gpuexp::own {

namespace {

bool begins_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool continues_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::size_t word_size(std::string_view text) {
  if (text.empty() || !begins_word(text.front())) return 0;
  std::size_t size = 1;
  while (size < text.size() && continues_word(text[size]))
    ++size;
  return size;
}

/// The number of characters before the ',' or '>' that ends an argument of a template, or before
/// the "<<<" of a launch. Within parentheses and square brackets, '<' and '>' compare.
std::size_t template_argument_size(std::string_view text) {
  std::string open;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_in_parentheses = !open.empty() && open.back() != '<';
    const bool is_end = c == ',' || c == '>' || text.substr(i).starts_with("<<<");
    if (open.empty() && is_end) return i;
    const bool opens = c == '(' || c == '[' || (c == '<' && !is_in_parentheses);
    const bool closes = c == ')' || c == ']' || (c == '>' && !is_in_parentheses);
    if (opens) open += c;
    if (closes && !open.empty()) open.pop_back();
  }
  return text.size();
}

/// Whether the text may be an argument of a template in C++: a type, or a name.
bool may_be_code(std::string_view text) {
  constexpr std::string_view kOthers = " _:<>,*&()";
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0; };
  return std::ranges::any_of(text, is_letter) && std::ranges::all_of(text, [&](unsigned char c) {
           return std::isalnum(c) != 0 || kOthers.find(static_cast<char>(c)) != kOthers.npos;
         });
}

}  // namespace

std::string_view Statement::from_next() const {
  return rest_.substr(std::min(rest_.find_first_not_of(kBlanks), rest_.size()));
}

Place EntryStatement::place_at(std::size_t offset) const {
  const bool is_in_name = offset >= name_begin && offset < name_begin + name_size;
  if (offset < prefix_size || is_in_name) return {0, 0, entry};
  const std::size_t before = prefix_size + (offset >= name_begin ? name_size : 0);
  return {0, static_cast<int>(offset - before) + 1, entry};
}

Place Statement::place() const {
  const auto offset = static_cast<std::size_t>(from_next().data() - whole_.data());
  return entry_ ? entry_->place_at(offset) : Place{line_, static_cast<int>(offset) + 1};
}

std::string_view Statement::rest() const {
  return trimmed(rest_);
}

std::string Statement::found() const {
  if (!is_empty()) return "'" + shorten(rest()) + "'";
  return entry_ ? "the end of the value" : "the end of the line";
}

void Statement::expect_end() const {
  if (!is_empty()) fail(fmt::format("expected the end of the statement, found {}", found()));
}

bool Statement::takes(std::string_view mark) {
  skip_blanks();
  if (!rest_.starts_with(mark)) return false;
  rest_.remove_prefix(mark.size());
  return true;
}

void Statement::expect(std::string_view mark, std::string_view after) {
  if (!takes(mark)) fail(fmt::format("expected '{}' after {}, found {}", mark, after, found()));
}

bool Statement::takes_word(std::string_view word) {
  skip_blanks();
  if (rest_.substr(0, word_size(rest_)) != word) return false;
  rest_.remove_prefix(word.size());
  return true;
}

bool Statement::takes_keyword(std::string_view word) {
  Statement after = *this;
  if (!after.takes_word(word)) return false;
  const std::string_view next = after.rest();
  const bool is_defined = next.starts_with('=') && !next.starts_with("==");
  if (is_defined || next.starts_with('[') || next.starts_with('<')) return false;
  *this = after;
  return true;
}

std::string Statement::name(std::string_view what) {
  skip_blanks();
  const std::size_t size = word_size(rest_);
  if (size == 0) fail(fmt::format("expected {}, found {}", what, found()));
  constexpr std::size_t kMaxName = 128;
  if (size > kMaxName)
    fail(
        fmt::format("the name {} has {} characters; expected at most {}", found(), size, kMaxName));
  const std::string taken(rest_.substr(0, size));
  rest_.remove_prefix(size);
  return taken;
}

bool Statement::takes_name() {
  skip_blanks();
  const std::size_t size = word_size(rest_);
  rest_.remove_prefix(size);
  return size > 0;
}

std::string_view Statement::take_rest() {
  const std::string_view taken = rest();
  rest_.remove_prefix(rest_.size());
  return taken;
}

PlacedExpression Statement::expression() {
  skip_blanks();
  const Place at = place();
  const std::string_view before = rest_;
  try {
    Expression expression = Expression::parse_prefix(rest_);
    return {std::move(expression), at};
  } catch (const ExpressionError& error) {
    rest_ = before;
    fail_at(after(at, error.column()), error.what());
  }
}

PlacedExpression Statement::last_expression() {
  skip_blanks();
  const Place at = place();
  try {
    return {Expression::parse(take_rest()), at};
  } catch (const ExpressionError& error) {
    fail_at(after(at, error.column()), error.what());
  }
}

DeclaredTemplateArgument Statement::template_argument() {
  skip_blanks();
  const Place at = place();
  const std::size_t size = template_argument_size(rest_);
  DeclaredTemplateArgument argument;
  argument.text = trimmed(rest_.substr(0, size));
  try {
    argument.expression = PlacedExpression{Expression::parse(argument.text), at};
  } catch (const ExpressionError& error) {
    if (!may_be_code(argument.text)) fail_at(after(at, error.column()), error.what());
  }
  rest_.remove_prefix(size);
  return argument;
}

DeclaredCheck Statement::check() {
  skip_blanks();
  const Place at = place();
  try {
    return {Check::parse(take_rest()), at};
  } catch (const ExpressionError& error) {
    fail_at(after(at, error.column()), error.what());
  }
}

}  // namespace gpuexp::own
