#include "own/expression.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/checked_power.hpp"
#include "base/names.hpp"
#include "base/text_parts.hpp"
#include "own/expression_tree.hpp"

namespace gpuexp::own {

namespace {

enum class Arithmetic { integers, reals, mixed };

struct ExpressionValue {
  bool is_integer = false;
  std::int64_t integer = 0;
  double real = 0;  // also of an integer

  ExpressionValue(std::int64_t value)
      : is_integer(true), integer(value), real(static_cast<double>(value)) {}
  ExpressionValue(double value) : real(value) {}
  std::string text() const {
    return is_integer ? fmt::format("{}", integer) : fmt::format("{}", real);
  }
};

[[noreturn]] void fail_at(const Node& node, const std::string& message) {
  throw ExpressionError(message, node.column);
}

std::int64_t in_range(const Node& node, bool overflows, std::int64_t result,
                      const std::string& operation) {
  if (overflows) fail_at(node, fmt::format("{} is out of the range of 64-bit integers", operation));
  return result;
}

std::string operation_text(const Node& node, const ExpressionValue& a, const ExpressionValue& b) {
  if (node.kind == NodeKind::call) return fmt::format("{}({}, {})", node.name, a.text(), b.text());
  return fmt::format("{} {} {}", a.text(), symbol_of(node.kind), b.text());
}

std::int64_t integer_power(const Node& node, std::int64_t base, std::int64_t exponent) {
  const std::string operation = operation_text(node, base, exponent);
  if (exponent < 0) fail_at(node, fmt::format("{} is not an integer", operation));
  const std::optional<std::int64_t> power = checked_power(base, exponent);
  return in_range(node, !power, power.value_or(0), operation);
}

// The quotient, rounded towards negative infinity, and the remainder, which has the sign of b.
std::pair<std::int64_t, std::int64_t> floor_divided(const Node& node, std::int64_t a,
                                                    std::int64_t b) {
  if (b == 0) fail_at(node, fmt::format("division by zero in {}", operation_text(node, a, b)));
  in_range(node, b == -1 && a == std::numeric_limits<std::int64_t>::min(), 0,
           operation_text(node, a, b));
  const bool rounds_down = a % b != 0 && (a < 0) != (b < 0);
  return {a / b - (rounds_down ? 1 : 0), a % b + (rounds_down ? b : 0)};
}

bool is_same_operand(const Node& a, const Node& b) {
  return a.kind == b.kind && a.name == b.name &&
         (a.kind == NodeKind::integer || a.kind == NodeKind::name);
}

// The n of (n + 255) / 256 and of (n + b - 1) / b, which round n / 256 and n / b up; null for other
// quotients.
const Node* rounded_up_number(const Node& quotient, std::int64_t divisor) {
  const Node& above = quotient.operand(0);
  const auto is_literal = [](const Node& node, std::int64_t value) {
    return node.kind == NodeKind::integer && node.integer == value;
  };
  if (above.kind == NodeKind::add && is_literal(above.operand(1), divisor - 1))
    return &above.operand(0);
  const bool subtracts_one = above.kind == NodeKind::subtract && is_literal(above.operand(1), 1) &&
                             above.operand(0).kind == NodeKind::add &&
                             is_same_operand(above.operand(0).operand(1), quotient.operand(1));
  return subtracts_one ? &above.operand(0).operand(0) : nullptr;
}

std::string ceil_div_hint(const Node& quotient, std::int64_t a, std::int64_t b) {
  const Node* const number = rounded_up_number(quotient, b);
  if (!number) return fmt::format("ceil_div({}, {})", a, b);
  const auto spelled = [](const Node& node, std::int64_t value) {
    return node.kind == NodeKind::name ? node.name : fmt::format("{}", value);
  };
  return fmt::format("ceil_div({}, {}), which rounds up", spelled(*number, a - (b - 1)),
                     spelled(quotient.operand(1), b));
}

std::int64_t exact_quotient(const Node& node, std::int64_t a, std::int64_t b) {
  const auto [quotient, remainder] = floor_divided(node, a, b);
  if (remainder != 0)
    fail_at(node, fmt::format("{} / {} leaves the remainder {}; use {}, or floor_div for the whole "
                              "part",
                              a, b, a % b, ceil_div_hint(node, a, b)));
  return quotient;
}

bool compared(NodeKind kind, auto a, auto b) {
  switch (kind) {
    case NodeKind::less: return a < b;
    case NodeKind::less_equal: return a <= b;
    case NodeKind::greater: return a > b;
    case NodeKind::greater_equal: return a >= b;
    case NodeKind::equal: return a == b;
    default: return a != b;
  }
}

std::int64_t integer_binary(const Node& node, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  const auto checked = [&](bool overflows) {
    return in_range(node, overflows, result, overflows ? operation_text(node, a, b) : "");
  };
  switch (node.kind) {
    case NodeKind::add: return checked(__builtin_add_overflow(a, b, &result));
    case NodeKind::subtract: return checked(__builtin_sub_overflow(a, b, &result));
    case NodeKind::multiply: return checked(__builtin_mul_overflow(a, b, &result));
    case NodeKind::divide: return exact_quotient(node, a, b);
    case NodeKind::remainder: floor_divided(node, a, b); return a % b;
    case NodeKind::power: return integer_power(node, a, b);
    case NodeKind::call: break;
    default: return compared(node.kind, a, b);
  }
  if (node.name == "min") return std::min(a, b);
  if (node.name == "max") return std::max(a, b);
  const auto [quotient, remainder] = floor_divided(node, a, b);
  return node.name == "ceil_div" && remainder != 0 ? quotient + 1 : quotient;
}

double real_binary(const Node& node, double a, double b) {
  const bool divides = node.kind == NodeKind::divide || node.kind == NodeKind::remainder ||
                       node.name == "ceil_div" || node.name == "floor_div";
  if (divides && b == 0)
    fail_at(node, fmt::format("division by zero in {}", operation_text(node, a, b)));
  switch (node.kind) {
    case NodeKind::add: return a + b;
    case NodeKind::subtract: return a - b;
    case NodeKind::multiply: return a * b;
    case NodeKind::divide: return a / b;
    case NodeKind::remainder: return std::fmod(a, b);
    case NodeKind::power: return std::pow(a, b);
    case NodeKind::call: break;
    default: return compared(node.kind, a, b) ? 1 : 0;
  }
  if (node.name == "min") return std::min(a, b);
  if (node.name == "max") return std::max(a, b);
  if (node.name == "pow") return std::pow(a, b);
  return node.name == "ceil_div" ? std::ceil(a / b) : std::floor(a / b);
}

std::int64_t integer_unary(const Node& node, std::int64_t a) {
  if (node.name == "log2") {
    if (a <= 0 || !std::has_single_bit(static_cast<std::uint64_t>(a)))
      fail_at(node, fmt::format("log2({0}) is not an integer: {0} is not a power of two", a));
    return std::countr_zero(static_cast<std::uint64_t>(a));
  }
  if (node.name == "abs" && a >= 0) return a;
  std::int64_t negated = 0;
  const bool overflows = __builtin_sub_overflow(std::int64_t{0}, a, &negated);
  return in_range(node, overflows, negated, fmt::format("-({})", a));
}

double real_unary(const Node& node, double a) {
  if (node.kind == NodeKind::negate) return -a;
  if (node.name == "abs") return std::abs(a);
  if (node.name == "exp") return std::exp(a);
  if (node.name == "log") return std::log(a);
  if (node.name == "log2") return std::log2(a);
  if (node.name == "sqrt") return std::sqrt(a);
  if (node.name == "rsqrt") return 1 / std::sqrt(a);
  if (node.name == "sin") return std::sin(a);
  if (node.name == "cos") return std::cos(a);
  if (node.name == "tanh") return std::tanh(a);
  if (node.name == "erf") return std::erf(a);
  if (node.name == "trunc") return std::trunc(a);
  if (node.name == "rint") return std::rint(a);
  if (node.name == "round") return std::round(a);
  if (node.name == "fp32") return static_cast<float>(a);
  return node.name == "floor" ? std::floor(a) : std::ceil(a);
}

bool has_integer_result(const std::string& function) {
  const std::vector<FunctionRule>& rules = function_rules();
  return std::any_of(rules.begin(), rules.end(), [&](const FunctionRule& rule) {
    return rule.name == function && rule.of_integers;
  });
}

class Evaluation {
 public:
  Evaluation(Arithmetic arithmetic, const Names& names) : arithmetic_(arithmetic), names_(names) {}

  ExpressionValue value(const Node& node) {
    switch (node.kind) {
      case NodeKind::integer:
        return arithmetic_ == Arithmetic::reals ? ExpressionValue(node.real)
                                                : ExpressionValue(node.integer);
      case NodeKind::real:
        if (arithmetic_ == Arithmetic::integers)
          fail_at(node, fmt::format("{} is not an integer; expected integers", node.name));
        return node.real;
      case NodeKind::name: return named(node);
      case NodeKind::index:
      case NodeKind::before:
        fail_at(node, fmt::format("{}[...] reads a buffer; only a check can read buffers",
                                  shorten(node.name)));
      case NodeKind::sum: return sum(node);
      case NodeKind::logical_not: return truth(!holds(node.operand(0)));
      case NodeKind::logical_and: return truth(holds(node.operand(0)) && holds(node.operand(1)));
      case NodeKind::logical_or: return truth(holds(node.operand(0)) || holds(node.operand(1)));
      case NodeKind::conditional: return value(node.operand(holds(node.operand(0)) ? 1 : 2));
      default: return operation(node);
    }
  }
  bool holds(const Node& node) { return value(node).real != 0; }

 private:
  ExpressionValue truth(bool is_true) const {
    const std::int64_t number = is_true ? 1 : 0;
    return arithmetic_ == Arithmetic::reals ? ExpressionValue(static_cast<double>(number))
                                            : ExpressionValue(number);
  }

  ExpressionValue named(const Node& node) const {
    const auto bound = std::find_if(indices_.rbegin(), indices_.rend(),
                                    [&](const auto& index) { return index.first == node.name; });
    if (bound != indices_.rend())
      return arithmetic_ == Arithmetic::reals ? ExpressionValue(static_cast<double>(bound->second))
                                              : ExpressionValue(bound->second);
    const auto found = names_.find(node.name);
    if (found == names_.end()) fail_unknown(node);
    if (const auto* text = std::get_if<std::string>(&found->second))
      fail_at(node, fmt::format("parameter '{}' is the text '{}'; expected a number", node.name,
                                shorten(*text)));
    const auto* const real = std::get_if<double>(&found->second);
    if (!real) {
      const std::int64_t integer = std::get<std::int64_t>(found->second);
      return arithmetic_ == Arithmetic::reals ? ExpressionValue(static_cast<double>(integer))
                                              : ExpressionValue(integer);
    }
    if (arithmetic_ == Arithmetic::integers)
      fail_at(node, fmt::format("parameter '{}' is {}; expected an integer", node.name, *real));
    if (!std::isfinite(*real))
      fail_at(node,
              fmt::format("parameter '{}' is {}; expected a finite number", node.name, *real));
    return *real;
  }

  [[noreturn]] void fail_unknown(const Node& node) const {
    std::vector<std::string> allowed;
    for (const auto& [name, value] : names_)
      allowed.push_back(name);
    for (const auto& [name, value] : indices_)
      allowed.push_back(name);
    fail_at(node, fmt::format("unknown name '{}'{}", shorten(node.name),
                              allowed_names(node.name, allowed)));
  }

  ExpressionValue operation(const Node& node) {
    if (arithmetic_ == Arithmetic::integers && node.kind == NodeKind::call) check_integer(node);
    ExpressionValue left = value(node.operand(0));
    if (node.operands.size() == 1) {
      if (left.is_integer && (node.kind == NodeKind::negate || has_integer_result(node.name)))
        return integer_unary(node, left.integer);
      return finite(node, real_unary(node, left.real), left, std::nullopt);
    }
    // min() and max() may have more than two operands.
    for (std::size_t i = 1; i < node.operands.size(); ++i) {
      const ExpressionValue right = value(node.operand(i));
      const bool is_integer = left.is_integer && right.is_integer && node.name != "pow";
      left = is_integer ? ExpressionValue(integer_binary(node, left.integer, right.integer))
                        : finite(node, real_binary(node, left.real, right.real), left, right);
      if (arithmetic_ == Arithmetic::mixed && is_comparison(node.kind))
        left = truth(left.real != 0);
    }
    return left;
  }

  static void check_integer(const Node& node) {
    if (has_integer_result(node.name)) return;
    std::vector<std::string> allowed;
    for (const FunctionRule& rule : function_rules())
      if (rule.of_integers) allowed.emplace_back(rule.name);
    fail_at(node, fmt::format("{}() has no integer result{}", node.name,
                              allowed_names(node.name, allowed)));
  }

  static ExpressionValue finite(const Node& node, double result, const ExpressionValue& a,
                                const std::optional<ExpressionValue>& b) {
    if (!std::isfinite(result))
      fail_at(node, fmt::format("{} is {}; expected a finite number",
                                b ? operation_text(node, a, *b)
                                  : fmt::format("{}({})", node.name, a.text()),
                                result));
    return result;
  }

  ExpressionValue sum(const Node& node) {
    const ExpressionValue count = value(node.operand(0));
    ExpressionValue total =
        arithmetic_ == Arithmetic::reals ? ExpressionValue(0.0) : ExpressionValue(std::int64_t{0});
    indices_.emplace_back(node.name, 0);
    for (std::int64_t k = 0; static_cast<double>(k) < count.real; ++k) {
      if (++terms_ > Expression::kMaxTerms)
        fail_at(node, fmt::format("the sums have more than {} terms", Expression::kMaxTerms));
      indices_.back().second = k;
      const ExpressionValue term = value(node.operand(1));
      std::int64_t whole = 0;
      const bool is_integer = total.is_integer && term.is_integer;
      const bool overflows =
          is_integer && __builtin_add_overflow(total.integer, term.integer, &whole);
      in_range(node, overflows, 0, "the sum");
      total = is_integer ? ExpressionValue(whole) : ExpressionValue(total.real + term.real);
      if (!std::isfinite(total.real)) fail_at(node, "the sum is not finite");
    }
    indices_.pop_back();
    return total;
  }

  Arithmetic arithmetic_;
  const Names& names_;
  std::vector<std::pair<std::string, std::int64_t>> indices_;
  std::int64_t terms_ = 0;
};

void add_names(const Node& node, std::vector<std::string>& indices, std::set<std::string>& names) {
  const bool names_something =
      node.kind == NodeKind::name || node.kind == NodeKind::index || node.kind == NodeKind::before;
  if (names_something && std::find(indices.begin(), indices.end(), node.name) == indices.end())
    names.insert(node.name);
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    // The index of a sum is known in its term, but not in its number of terms.
    const bool is_term = node.kind == NodeKind::sum && i == 1;
    if (is_term) indices.push_back(node.name);
    add_names(node.operand(i), indices, names);
    if (is_term) indices.pop_back();
  }
}

}  // namespace

Expression Expression::parse(std::string_view text, std::size_t begin) {
  const ParsedTree tree = parse_tree(text, begin, false);
  return {trimmed(text.substr(begin)), tree.root};
}

Expression Expression::parse_prefix(std::string_view& text) {
  const ParsedTree tree = parse_tree(text, 0, true);
  Expression expression(trimmed(text.substr(0, tree.end)), tree.root);
  text.remove_prefix(tree.end);
  return expression;
}

const std::string& Expression::text() const {
  return *text_;
}

std::set<std::string> Expression::names() const {
  std::vector<std::string> indices;
  std::set<std::string> names;
  add_names(*root_, indices, names);
  return names;
}

std::int64_t Expression::integer(const Names& names) const {
  return Evaluation(Arithmetic::integers, names).value(*root_).integer;
}

double Expression::real(const Names& names) const {
  return real_value(*root_, names);
}

bool Expression::holds(const Names& names) const {
  return Evaluation(Arithmetic::mixed, names).holds(*root_);
}

double real_value(const Node& node, const Names& names) {
  return Evaluation(Arithmetic::reals, names).value(node).real;
}

bool computes_with_reals(const Node& node) {
  if (node.kind == NodeKind::real) return true;
  const bool is_real_function =
      node.kind == NodeKind::call &&
      std::ranges::none_of(function_rules(), [&](const FunctionRule& rule) {
        return rule.name == node.name && rule.of_integers;
      });
  return is_real_function || std::ranges::any_of(node.operands, [](const NodePointer& operand) {
           return computes_with_reals(*operand);
         });
}

}  // namespace gpuexp::own
