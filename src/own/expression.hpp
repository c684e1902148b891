// Expressions in the declaration of a user's kernel: extents, launches, requirements and checks.
//
//   expression  = condition ["?" expression ":" expression]
//   operators   = "||", "&&", comparisons (< <= > >= == !=, not chained), "+ -", "* / %",
//                 unary "- !", "^" (power); each binds tighter than those before it. "^" is
//                 right-associative, all other binary operators are left-associative.
//   operand     = number | name | function(arguments) | (expression) | sum(k < count: term)
//               | buffer[index]... | before(buffer[index]...)
//   number      = 42 | 0x2a | 0.5 | 1e-3
//
// Only checks (own/check_expression.hpp) evaluate buffers and before().
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/types.hpp"

namespace gpuexp::own {

struct Node;
using Names = std::map<std::string, Value, std::less<>>;

/// An expression that cannot be parsed or evaluated.
class ExpressionError : public std::runtime_error {
 public:
  ExpressionError(const std::string& message, std::size_t column)
      : std::runtime_error(message), column_(column) {}
  /// Position of the cause in the parsed text, in bytes from 0.
  std::size_t column() const { return column_; }

 private:
  std::size_t column_ = 0;
};

/// An immutable expression. Copies share the syntax tree.
class Expression {
 public:
  static constexpr std::size_t kMaxLength = 4096;  ///< bytes
  static constexpr int kMaxNesting = 64;  ///< parentheses, functions and signs in each other
  static constexpr int kMaxHeight = 256;  ///< the tree's: a + b + c has 3
  static constexpr std::int64_t kMaxTerms = 1'000'000;  ///< in all sums of one evaluation

  /// Parses the text from `begin` to its end. Columns count from the start of the text.
  static Expression parse(std::string_view text, std::size_t begin = 0);
  /// Parses the expression at the front of the text and removes it, with the blanks that follow.
  /// The expression ends where it cannot continue. ">>>" and, outside parentheses, '>' end it, so
  /// that launches and template arguments can be parsed.
  static Expression parse_prefix(std::string_view& text);

  /// The expression without surrounding blanks.
  const std::string& text() const;
  /// Names of parameters and buffers: all names except functions and indices of sums.
  std::set<std::string> names() const;

  /// The value in 64-bit integers. Throws if an operation overflows, if a division has a remainder,
  /// or if a literal, parameter or function is not an integer. The sign of a % b is that of a.
  std::int64_t integer(const Names& names) const;
  /// The value in fp64, where 1 / 2 is 0.5. Throws if a result is infinite or NaN.
  double real(const Names& names) const;
  /// Whether the value is not 0. Operations on integers are those of integer(), operations with a
  /// real operand those of real().
  bool holds(const Names& names) const;

  const Node& root() const { return *root_; }

 private:
  Expression(std::string_view text, std::shared_ptr<const Node> root)
      : text_(std::make_shared<const std::string>(text)), root_(std::move(root)) {}

  std::shared_ptr<const std::string> text_;
  std::shared_ptr<const Node> root_;
};

/// The value of a part of an expression in fp64.
double real_value(const Node& node, const Names& names);

}  // namespace gpuexp::own
