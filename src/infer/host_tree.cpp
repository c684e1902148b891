#include "infer/host_tree.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/text.hpp"

namespace gpuexp::infer {

using own::Node;
using own::NodeKind;
using own::NodePointer;

namespace {

bool is_integer(const Node& node, std::int64_t value) {
  return node.kind == NodeKind::integer && node.integer == value;
}

bool are_equal(const Node& a, const Node& b) {
  return text_of(a) == text_of(b);
}

/// x, if the node is x + b - 1 in one of its forms.
NodePointer rounded_up(const Node& node, const Node& b) {
  if (node.kind == NodeKind::subtract && is_integer(node.operand(1), 1) &&
      node.operand(0).kind == NodeKind::add) {
    const Node& sum = node.operand(0);
    if (are_equal(sum.operand(1), b)) return sum.operands[0];
    if (are_equal(sum.operand(0), b)) return sum.operands[1];
  }
  if (node.kind == NodeKind::subtract && are_equal(node.operand(1), *integer_node(1)) == false)
    return nullptr;
  if (node.kind != NodeKind::add) return nullptr;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const Node& added = node.operand(i);
    const NodePointer& rest = node.operands[1 - i];
    const bool is_less_one = added.kind == NodeKind::subtract && is_integer(added.operand(1), 1) &&
                             are_equal(added.operand(0), b);
    const bool is_constant = b.kind == NodeKind::integer && is_integer(added, b.integer - 1);
    if (is_less_one || is_constant) return rest;
    // (x - 1) + b
    if (are_equal(added, b) && rest->kind == NodeKind::subtract && is_integer(rest->operand(1), 1))
      return rest->operands[0];
  }
  return nullptr;
}

std::optional<std::int64_t> computed(NodeKind kind, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (kind) {
    case NodeKind::add:
      return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case NodeKind::subtract:
      return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case NodeKind::multiply:
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case NodeKind::divide: return b > 0 ? std::optional(a / b) : std::nullopt;
    case NodeKind::remainder: return b > 0 ? std::optional(a % b) : std::nullopt;
    default: return std::nullopt;
  }
}

NodePointer ceil_quotient(NodePointer a, NodePointer b) {
  const bool are_constant = a->kind == NodeKind::integer && b->kind == NodeKind::integer;
  if (are_constant && a->integer >= 0 && b->integer > 0)
    return integer_node((a->integer + b->integer - 1) / b->integer);
  return operation(NodeKind::call, {std::move(a), std::move(b)}, "ceil_div");
}

// ---- text

/// How tightly the operator binds; each operand needs at least as much.
int tightness(const Node& node) {
  switch (node.kind) {
    case NodeKind::conditional: return 0;
    case NodeKind::logical_or: return 1;
    case NodeKind::logical_and: return 2;
    case NodeKind::less:
    case NodeKind::less_equal:
    case NodeKind::greater:
    case NodeKind::greater_equal:
    case NodeKind::equal:
    case NodeKind::not_equal: return 3;
    case NodeKind::add:
    case NodeKind::subtract: return 4;
    case NodeKind::multiply:
    case NodeKind::divide:
    case NodeKind::remainder: return 5;
    case NodeKind::negate:
    case NodeKind::logical_not: return 6;
    default: return 7;
  }
}

std::string text_within(const Node& node, int needed) {
  const std::string text = text_of(node);
  return tightness(node) < needed ? "(" + text + ")" : text;
}

}  // namespace

NodePointer integer_node(std::int64_t value) {
  Node node;
  node.kind = NodeKind::integer;
  node.integer = value;
  node.real = static_cast<double>(value);
  return std::make_shared<Node>(std::move(node));
}

NodePointer real_node(double value) {
  constexpr double kMaxWhole = 0x1p53;
  if (value == std::floor(value) && std::abs(value) <= kMaxWhole)
    return integer_node(static_cast<std::int64_t>(value));
  Node node;
  node.kind = NodeKind::real;
  node.real = value;
  return std::make_shared<Node>(std::move(node));
}

NodePointer name_node(std::string name) {
  Node node;
  node.kind = NodeKind::name;
  node.name = std::move(name);
  return std::make_shared<Node>(std::move(node));
}

NodePointer operation(NodeKind kind, std::vector<NodePointer> operands, std::string name) {
  Node node;
  node.kind = kind;
  node.name = std::move(name);
  for (const NodePointer& operand : operands)
    node.height = std::max(node.height, operand->height + 1);
  node.operands = std::move(operands);
  return std::make_shared<Node>(std::move(node));
}

/// The operation, computed if both operands are constants, and rounded up by ceil_div.
NodePointer binary(NodeKind kind, const NodePointer& a, const NodePointer& b) {
  if (a->kind == NodeKind::integer && b->kind == NodeKind::integer) {
    if (const auto value = computed(kind, a->integer, b->integer)) return integer_node(*value);
  }
  if (kind == NodeKind::divide) {
    if (NodePointer of = rounded_up(*a, *b)) return ceil_quotient(of, b);
    if (is_integer(*b, 1)) return a;
  }
  if (kind == NodeKind::multiply && is_integer(*b, 1)) return a;
  if (kind == NodeKind::multiply && is_integer(*a, 1)) return b;
  // (x - 1) / b + 1
  const bool is_next = kind == NodeKind::add && is_integer(*b, 1) && a->kind == NodeKind::divide;
  if (is_next && a->operand(0).kind == NodeKind::subtract &&
      is_integer(a->operand(0).operand(1), 1))
    return ceil_quotient(a->operand(0).operands[0], a->operands[1]);
  return operation(kind, {a, b});
}

NodePointer shifted(const NodePointer& a, const NodePointer& by, bool is_left) {
  constexpr std::int64_t kMaxShift = 62;
  if (by->kind != NodeKind::integer || by->integer < 0 || by->integer > kMaxShift)
    throw HostExpressionError("a shift by a number that is not constant");
  const NodePointer power = integer_node(std::int64_t{1} << by->integer);
  if (is_left) return binary(NodeKind::multiply, a, power);
  return a->kind == NodeKind::integer ? binary(NodeKind::divide, a, power)
                                      : operation(NodeKind::call, {a, power}, "floor_div");
}

NodePointer negated(const NodePointer& a) {
  if (a->kind == NodeKind::integer) return integer_node(-a->integer);
  if (a->kind == NodeKind::real) return real_node(-a->real);
  return operation(NodeKind::negate, {a});
}

/// ceil(a / b) of real numbers is ceil_div(a, b).
NodePointer called(const std::string& name, const std::vector<NodePointer>& arguments) {
  const bool is_ceil = name == "ceil" || name == "ceilf";
  const bool is_floor = name == "floor" || name == "floorf";
  if (arguments.size() == 1 && (is_ceil || is_floor)) {
    const Node& of = *arguments[0];
    if (of.kind != NodeKind::divide) return arguments[0];
    if (is_ceil) return ceil_quotient(of.operands[0], of.operands[1]);
    return operation(NodeKind::call, of.operands, "floor_div");
  }
  if (arguments.size() == 2 && (name == "min" || name == "max"))
    return operation(NodeKind::call, arguments, name);
  constexpr std::array<std::string_view, 5> kRoundsUp{"ceil", "cdiv", "divup", "div_up", "updiv"};
  const std::string lower = lower_case(name);
  const bool rounds_up =
      std::any_of(kRoundsUp.begin(), kRoundsUp.end(),
                  [&](std::string_view part) { return lower.find(part) != std::string::npos; });
  if (arguments.size() == 2 && rounds_up) return ceil_quotient(arguments[0], arguments[1]);
  throw HostExpressionError(fmt::format("a call of {}", shorten(name)));
}

NodePointer replaced(const NodePointer& node, const Replacements& by) {
  if (node->kind == NodeKind::name) {
    const auto found = by.find(node->name);
    return found == by.end() ? node : found->second;
  }
  std::vector<NodePointer> operands;
  for (const NodePointer& operand : node->operands)
    operands.push_back(replaced(operand, by));
  switch (node->kind) {
    case NodeKind::integer:
    case NodeKind::real: return node;
    case NodeKind::add:
    case NodeKind::subtract:
    case NodeKind::multiply:
    case NodeKind::divide: return binary(node->kind, operands[0], operands[1]);
    case NodeKind::call:
      if (node->name == "ceil_div") return called(node->name, operands);
      [[fallthrough]];
    default: return operation(node->kind, std::move(operands), node->name);
  }
}

own::Expression replaced(const own::Expression& expression, const Replacements& by) {
  const NodePointer root = own::parse_tree(expression.text(), 0, false).root;
  try {
    return own::Expression::parse(text_of(*replaced(root, by)));
  } catch (const own::ExpressionError& error) {
    throw HostExpressionError(error.what());
  }
}

std::vector<own::Expression> replaced(const std::vector<own::Expression>& expressions,
                                      const Replacements& by) {
  std::vector<own::Expression> all;
  for (const own::Expression& expression : expressions)
    all.push_back(replaced(expression, by));
  return all;
}

std::string text_of(const own::Node& node) {
  switch (node.kind) {
    case NodeKind::integer: return fmt::format("{}", node.integer);
    case NodeKind::real: return fmt::format("{}", node.real);
    case NodeKind::name: return node.name;
    case NodeKind::call: {
      std::string text = node.name + "(";
      for (std::size_t i = 0; i < node.operands.size(); ++i)
        text += (i > 0 ? ", " : "") + text_of(node.operand(i));
      return text + ")";
    }
    case NodeKind::negate: return "-" + text_within(node.operand(0), 6);
    case NodeKind::logical_not: return "!" + text_within(node.operand(0), 6);
    case NodeKind::conditional:
      return text_within(node.operand(0), 1) + " ? " + text_within(node.operand(1), 1) + " : " +
             text_within(node.operand(2), 0);
    default: {
      // Sums and comparisons have blanks around the operator.
      const int own = tightness(node);
      const bool is_product = own == 5;
      const std::string left = text_within(node.operand(0), own == 3 ? 4 : own);
      const std::string right = text_within(node.operand(1), own + 1);
      return fmt::format("{0}{1}{2}{1}{3}", left, is_product ? "" : " ", symbol_of(node.kind),
                         right);
    }
  }
}

std::optional<std::int64_t> constant_of(const own::Node& node) {
  return node.kind == NodeKind::integer ? std::optional(node.integer) : std::nullopt;
}

}  // namespace gpuexp::infer
