// Syntax tree of expressions, shared by their evaluation and by the compiler of checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gpuexp::own {

enum class NodeKind {
  integer,
  real,
  name,
  call,    ///< a function of the operands
  index,   ///< a buffer, indexed by the operands
  before,  ///< before(buffer[...]): indexed like `index`
  sum,     ///< operands: number of terms, term; the name is the index
  negate,
  logical_not,
  power,
  multiply,
  divide,
  remainder,
  add,
  subtract,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  logical_and,
  logical_or,
  conditional,  ///< operands: condition, value if true, value if false
};

inline bool is_comparison(NodeKind kind) {
  return kind >= NodeKind::less && kind <= NodeKind::not_equal;
}

struct Node;
using NodePointer = std::shared_ptr<const Node>;

struct Node {
  NodeKind kind = NodeKind::integer;
  std::size_t column = 0;  ///< where the name, literal or operator begins
  std::string name;        ///< as in the text: of a name, function, buffer or index; of a literal
  std::int64_t integer = 0;
  double real = 0;  ///< the value of a literal of either kind
  std::vector<NodePointer> operands;
  int height = 1;  ///< number of nodes on the longest path to a leaf

  const Node& operand(std::size_t i) const { return *operands[i]; }
};

/// The operator as in the text: "+", "==", "?:"; empty for other nodes.
std::string_view symbol_of(NodeKind kind);

struct FunctionRule {
  std::string_view name;
  std::size_t min_arguments = 1;
  std::size_t max_arguments = 1;
  bool of_integers = false;  ///< Expression::integer() computes it
  bool in_checks = true;
};

/// All functions except sum() and before(), in alphabetical order.
const std::vector<FunctionRule>& function_rules();

/// Whether the function rounds its argument to a whole number: "floor", "ceil", "trunc", "rint" and
/// "round".
bool rounds_to_whole_numbers(std::string_view function);

/// Whether the expression has a literal such as 0.5 or a function such as sqrt(), whose values are
/// real numbers.
bool computes_with_reals(const Node& node);

struct ParsedTree {
  NodePointer root;
  std::size_t end = 0;  ///< first character after the expression and the blanks that follow it
};

/// Parses the expression at `begin`. If `is_prefix`, the expression ends where it cannot continue,
/// in particular at a '>' outside parentheses; otherwise it must extend to the end of the text.
ParsedTree parse_tree(std::string_view text, std::size_t begin, bool is_prefix);

}  // namespace gpuexp::own
