#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/text_parts.hpp"
#include "own/expression.hpp"
#include "own/expression_tree.hpp"

namespace gpuexp::own {

namespace {

constexpr std::string_view kExpressionBlanks = " \t\r\n";
constexpr std::string_view kOperandText = "a number, a name, a function call or '('";

bool starts_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}
bool continues_name(char c) {
  return starts_name(c) || std::isdigit(static_cast<unsigned char>(c));
}

enum class ExpressionTokenKind { end, number, name, symbol };

struct ExpressionToken {
  ExpressionTokenKind kind = ExpressionTokenKind::end;
  std::string_view text;
  std::size_t column = 0;
};

std::size_t symbol_size(std::string_view rest) {
  for (const std::string_view symbol : {"<<<", ">>>", "<=", ">=", "==", "!=", "&&", "||"})
    if (rest.starts_with(symbol)) return symbol.size();
  // A character outside ASCII is one symbol in messages.
  std::size_t size = 1;
  while (size < rest.size() && (static_cast<unsigned char>(rest[0]) & 0xC0) == 0xC0 &&
         (static_cast<unsigned char>(rest[size]) & 0xC0) == 0x80)
    ++size;
  return size;
}

// Digits, points and letters, and the signs of decimal exponents: also of malformed numbers. In the
// range 1..8, two points end the number.
std::size_t number_size(std::string_view rest) {
  const bool is_hexadecimal = rest.starts_with("0x") || rest.starts_with("0X");
  std::size_t size = 1;
  for (; size < rest.size(); ++size) {
    const char previous = rest[size - 1];
    const bool is_exponent = !is_hexadecimal && (previous == 'e' || previous == 'E');
    const bool is_sign = is_exponent && (rest[size] == '-' || rest[size] == '+');
    if (!continues_name(rest[size]) && rest[size] != '.' && !is_sign) break;
    if (rest.substr(size).starts_with("..")) break;
  }
  return size;
}

struct BinaryRule {
  std::string_view symbol;
  NodeKind kind;
  int precedence;
};

constexpr int kComparisonPrecedence = 3;
constexpr std::array<BinaryRule, 13> kBinaryRules{
    {{"||", NodeKind::logical_or, 1},
     {"&&", NodeKind::logical_and, 2},
     {"<", NodeKind::less, kComparisonPrecedence},
     {"<=", NodeKind::less_equal, kComparisonPrecedence},
     {">", NodeKind::greater, kComparisonPrecedence},
     {">=", NodeKind::greater_equal, kComparisonPrecedence},
     {"==", NodeKind::equal, kComparisonPrecedence},
     {"!=", NodeKind::not_equal, kComparisonPrecedence},
     {"+", NodeKind::add, 4},
     {"-", NodeKind::subtract, 4},
     {"*", NodeKind::multiply, 5},
     {"/", NodeKind::divide, 5},
     {"%", NodeKind::remainder, 5}}};

// ---- functions of C and CUDA

/// "expf" and "__expf" without what shows the type or the precision: "exp".
std::string_view without_type(std::string_view function) {
  if (function.starts_with("__")) function.remove_prefix(2);
  if (function.ends_with('f') && function != "erf") function.remove_suffix(1);
  return function;
}

/// The function of a declaration that computes the same as one of C or CUDA: "max" for "fmaxf". The
/// name itself if there is none.
std::string_view name_in_declarations(std::string_view function,
                                      const std::vector<std::string>& names) {
  const std::string_view plain = without_type(function);
  const std::string_view without_f = plain.starts_with('f') ? plain.substr(1) : plain;
  for (const std::string_view name : {plain, without_f}) {
    if (std::ranges::find(names, name) != names.end()) return name;
  }
  return function;
}

/// What to write instead of a function or conversion of C that declarations lack; empty for others.
std::string_view instead_of_function(std::string_view function) {
  if (function == "fma" || function == "mad") return "a*b + c";
  if (function == "fmod") return "a % b";
  if (function == "exp2") return "2^a";
  if (function == "fdivide") return "a / b";
  if (function == "nearbyint" || function == "lrint" || function == "float2int_rn")
    return "rint(a)";
  if (function == "lround") return "round(a)";
  if (function == "float") return "fp32(a)";
  return "";
}

// A recursive-descent parser. Binary operators are parsed by precedence climbing.
class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, std::size_t begin, bool is_prefix)
      : text_(text), begin_(begin), is_prefix_(is_prefix), position_(begin) {
    advance();
  }

  ParsedTree parse() {
    NodePointer root = parse_conditional();
    if (!is_prefix_ && token_.kind != ExpressionTokenKind::end) {
      fail(fmt::format("found {} after '{}'{}", found(), shorten(consumed()), hint_for_rest()));
    }
    return {std::move(root), token_.column};
  }

 private:
  [[noreturn]] static void fail_at(std::size_t column, const std::string& message) {
    throw ExpressionError(message, column);
  }
  [[noreturn]] void fail(const std::string& message) const { fail_at(token_.column, message); }
  [[noreturn]] void fail_expected(std::string_view what) const {
    fail(fmt::format("expected {}, found {}", what, found()));
  }

  std::string found() const {
    return token_.kind == ExpressionTokenKind::end ? "the end" : "'" + shorten(token_.text) + "'";
  }
  std::string_view consumed() const { return trimmed(text_.substr(begin_, last_end_ - begin_)); }

  std::string_view hint_for_rest() const {
    if (token_.text == "=") return "; write == to compare";
    const bool is_last = trimmed(text_.substr(token_.column)) == ";";
    return is_last ? "; remove it, because no ';' ends a statement"
                   : "; expected an operator or the end";
  }

  void advance() {
    last_end_ = token_.column + token_.text.size();
    position_ = std::min(text_.find_first_not_of(kExpressionBlanks, position_), text_.size());
    const std::string_view rest = text_.substr(position_);
    token_ = {ExpressionTokenKind::end, {}, position_};
    if (rest.empty()) return;
    const bool has_digit =
        std::isdigit(static_cast<unsigned char>(rest[0])) ||
        (rest[0] == '.' && rest.size() > 1 && std::isdigit(static_cast<unsigned char>(rest[1])));
    std::size_t size = 1;
    if (has_digit) {
      token_.kind = ExpressionTokenKind::number;
      size = number_size(rest);
    } else if (starts_name(rest[0])) {
      token_.kind = ExpressionTokenKind::name;
      while (size < rest.size() && continues_name(rest[size]))
        ++size;
    } else {
      token_.kind = ExpressionTokenKind::symbol;
      size = symbol_size(rest);
    }
    token_.text = rest.substr(0, size);
    position_ += size;
  }

  bool is_symbol(std::string_view symbol) const {
    return token_.kind == ExpressionTokenKind::symbol && token_.text == symbol;
  }
  bool take(std::string_view symbol) {
    if (!is_symbol(symbol)) return false;
    advance();
    return true;
  }
  void require(std::string_view symbol, std::string_view what) {
    if (!take(symbol)) fail_expected(what);
  }

  // Every recursion passes through here, so that the depth of the stack is limited.
  template <class Parse>
  NodePointer nested(Parse parse) {
    if (++nesting_ > Expression::kMaxNesting)
      fail(fmt::format("the expression is nested more than {} levels deep",
                       Expression::kMaxNesting));
    NodePointer node = parse();
    --nesting_;
    return node;
  }
  NodePointer parse_enclosed() {
    ++enclosing_;
    NodePointer node = nested([this] { return parse_conditional(); });
    --enclosing_;
    return node;
  }

  NodePointer make(NodeKind kind, std::size_t column, std::vector<NodePointer> operands,
                   std::string_view name = {}) const {
    if (last_end_ > begin_ + Expression::kMaxLength)
      fail_at(begin_ + Expression::kMaxLength,
              fmt::format("the expression is longer than {} characters", Expression::kMaxLength));
    Node node;
    node.kind = kind;
    node.column = column;
    node.name = name;
    node.operands = std::move(operands);
    for (const NodePointer& operand : node.operands)
      node.height = std::max(node.height, operand->height + 1);
    if (node.height > Expression::kMaxHeight)
      fail_at(column, fmt::format("the expression has more than {} operators in a row; add "
                                  "parentheses around groups of operands",
                                  Expression::kMaxHeight - 1));
    return std::make_shared<const Node>(std::move(node));
  }

  NodePointer parse_conditional() {
    NodePointer condition = parse_binary(1);
    const std::size_t column = token_.column;
    if (!take("?")) return condition;
    // As in C, the value if true extends to the ':', as if it was in parentheses.
    NodePointer yes = parse_enclosed();
    require(":", "':' and the value if the condition is false");
    NodePointer no = nested([this] { return parse_conditional(); });
    return make(NodeKind::conditional, column, {condition, yes, no});
  }

  const BinaryRule* binary_rule() const {
    if (token_.kind != ExpressionTokenKind::symbol) return nullptr;
    if (is_prefix_ && enclosing_ == 0 && token_.text == ">") return nullptr;
    const auto* const rule =
        std::find_if(kBinaryRules.begin(), kBinaryRules.end(),
                     [this](const BinaryRule& r) { return r.symbol == token_.text; });
    return rule == kBinaryRules.end() ? nullptr : rule;
  }

  NodePointer parse_binary(int min_precedence) {
    NodePointer left = parse_unary();
    const BinaryRule* previous = nullptr;
    while (const BinaryRule* rule = binary_rule()) {
      if (rule->precedence < min_precedence) break;
      if (rule->precedence == kComparisonPrecedence && previous &&
          previous->precedence == kComparisonPrecedence)
        fail(fmt::format("comparisons cannot be chained; write a {0} b && b {1} c",
                         previous->symbol, rule->symbol));
      const std::size_t column = token_.column;
      advance();
      NodePointer right = parse_binary(rule->precedence + 1);
      left = make(rule->kind, column, {left, right});
      previous = rule;
    }
    return left;
  }

  NodePointer parse_unary() {
    const std::size_t column = token_.column;
    for (const auto& [symbol, kind] :
         {std::pair("-", NodeKind::negate), std::pair("!", NodeKind::logical_not)}) {
      if (!take(symbol)) continue;
      return make(kind, column, {nested([this] { return parse_unary(); })});
    }
    NodePointer base = parse_operand();
    const std::size_t caret = token_.column;
    if (!take("^")) return base;
    return make(NodeKind::power, caret, {base, nested([this] { return parse_unary(); })});
  }

  NodePointer parse_operand() {
    const ExpressionToken token = token_;
    if (take("(")) {
      NodePointer node = parse_enclosed();
      require(")", "')'");
      return node;
    }
    if (token.kind == ExpressionTokenKind::number) return parse_number();
    if (token.kind != ExpressionTokenKind::name) fail_expected(kOperandText);
    advance();
    if (is_symbol("(")) {
      if (token.text == "sum") return parse_sum(token);
      if (token.text == "before") return parse_before(token);
      return parse_call(token);
    }
    if (is_symbol("[")) return parse_index(token, NodeKind::index, token.column);
    return make(NodeKind::name, token.column, {}, token.text);
  }

  NodePointer parse_number() {
    const ExpressionToken token = token_;
    advance();
    Node node = *make(NodeKind::integer, token.column, {}, token.text);
    const bool is_hexadecimal = token.text.starts_with("0x") || token.text.starts_with("0X");
    const std::string_view digits = token.text.substr(is_hexadecimal ? 2 : 0);
    const char* const end = digits.data() + digits.size();
    std::from_chars_result read =
        std::from_chars(digits.data(), end, node.integer, is_hexadecimal ? 16 : 10);
    node.real = static_cast<double>(node.integer);
    if (read.ec == std::errc::result_out_of_range && read.ptr == end)
      fail_at(token.column, fmt::format("the integer {} is larger than 9223372036854775807",
                                        shorten(token.text)));
    if (!is_hexadecimal && (read.ec != std::errc() || read.ptr != end)) {
      node.kind = NodeKind::real;
      read = std::from_chars(digits.data(), end, node.real);
      if (read.ec == std::errc::result_out_of_range && read.ptr == end)
        fail_at(token.column,
                fmt::format("the number {} is out of the range of fp64", shorten(token.text)));
    }
    if (read.ec != std::errc() || read.ptr != end)
      fail_at(token.column, fmt::format("'{}' is not a number; expected a number such as 42, "
                                        "0x2a, 0.5 or 1e-3",
                                        shorten(token.text)));
    return std::make_shared<const Node>(std::move(node));
  }

  NodePointer parse_index(const ExpressionToken& buffer, NodeKind kind, std::size_t column) {
    std::vector<NodePointer> indices;
    while (take("[")) {
      indices.push_back(parse_enclosed());
      require("]", "']'");
    }
    return make(kind, column, std::move(indices), buffer.text);
  }

  NodePointer parse_before(const ExpressionToken& function) {
    constexpr std::string_view kExpected = "an element of the output, such as before(C[i])";
    advance();
    const ExpressionToken buffer = token_;
    if (buffer.kind != ExpressionTokenKind::name) fail_expected(kExpected);
    advance();
    if (!is_symbol("[")) fail_expected("'[': before() has " + std::string(kExpected));
    NodePointer node = parse_index(buffer, NodeKind::before, function.column);
    require(")", "')'");
    return node;
  }

  NodePointer parse_sum(const ExpressionToken& function) {
    advance();
    const ExpressionToken index = token_;
    if (index.kind != ExpressionTokenKind::name)
      fail_expected("the index of the sum, such as sum(k < K: a[k])");
    advance();
    require("<", "'<' after the index of the sum, such as sum(k < K: a[k])");
    NodePointer count = parse_enclosed();
    require(":", "':' and the term of the sum, such as sum(k < K: a[k])");
    NodePointer term = parse_enclosed();
    require(")", "')'");
    return make(NodeKind::sum, function.column, {count, term}, index.text);
  }

  NodePointer parse_call(const ExpressionToken& function) {
    const std::vector<FunctionRule>& rules = function_rules();
    const auto rule = std::find_if(rules.begin(), rules.end(),
                                   [&](const FunctionRule& r) { return r.name == function.text; });
    if (rule == rules.end()) fail_unknown(function);
    advance();
    std::vector<NodePointer> arguments;
    if (!is_symbol(")")) {
      do {
        arguments.push_back(parse_enclosed());
      } while (take(","));
    }
    require(")", "',' or ')'");
    const std::size_t count = arguments.size();
    if (count < rule->min_arguments || count > rule->max_arguments)
      fail_at(function.column,
              fmt::format("{}() needs {}{} argument{}, found {}", rule->name,
                          rule->max_arguments > rule->min_arguments ? "at least " : "",
                          rule->min_arguments, rule->min_arguments == 1 ? "" : "s", count));
    return make(NodeKind::call, function.column, std::move(arguments), function.text);
  }

  [[noreturn]] static void fail_unknown(const ExpressionToken& function) {
    std::vector<std::string> names{"before", "sum"};
    for (const FunctionRule& rule : function_rules())
      names.emplace_back(rule.name);
    std::sort(names.begin(), names.end());
    const std::string_view operators = instead_of_function(without_type(function.text));
    if (!operators.empty())
      fail_at(function.column,
              fmt::format("unknown function '{}'; write {}", shorten(function.text), operators));
    const std::string_view name = name_in_declarations(function.text, names);
    fail_at(function.column, fmt::format("unknown function '{}'{}", shorten(function.text),
                                         allowed_names(name, names)));
  }

  std::string_view text_;
  std::size_t begin_;
  bool is_prefix_;
  std::size_t position_;
  ExpressionToken token_;
  std::size_t last_end_ = 0;
  int nesting_ = 0;
  int enclosing_ = 0;
};

}  // namespace

ParsedTree parse_tree(std::string_view text, std::size_t begin, bool is_prefix) {
  return ExpressionParser(text, begin, is_prefix).parse();
}

const std::vector<FunctionRule>& function_rules() {
  constexpr std::size_t kAnyNumber = Expression::kMaxLength;
  static const std::vector<FunctionRule> kRules{{"abs", 1, 1, true},
                                                {"ceil"},
                                                {"ceil_div", 2, 2, true},
                                                {"cos"},
                                                {"erf"},
                                                {"exp"},
                                                {"floor"},
                                                {"floor_div", 2, 2, true},
                                                {"fp32"},
                                                {"log"},
                                                {"log2", 1, 1, true, false},
                                                {"max", 2, kAnyNumber, true},
                                                {"min", 2, kAnyNumber, true},
                                                {"pow", 2, 2},
                                                {"rint"},
                                                {"round"},
                                                {"rsqrt"},
                                                {"sin"},
                                                {"sqrt"},
                                                {"tanh"},
                                                {"trunc"}};
  return kRules;
}

bool rounds_to_whole_numbers(std::string_view function) {
  return function == "floor" || function == "ceil" || function == "trunc" || function == "rint" ||
         function == "round";
}

std::string_view symbol_of(NodeKind kind) {
  if (kind == NodeKind::negate) return "-";
  if (kind == NodeKind::logical_not) return "!";
  if (kind == NodeKind::power) return "^";
  if (kind == NodeKind::conditional) return "?:";
  for (const BinaryRule& rule : kBinaryRules)
    if (rule.kind == kind) return rule.symbol;
  return {};
}

}  // namespace gpuexp::own
