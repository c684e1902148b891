// Syntax trees of declarations' expressions, built from host code: operations on constants are
// computed, and the roundings up that CUDA programs write in many ways become ceil_div.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "own/expression.hpp"
#include "own/expression_tree.hpp"

namespace gpuexp::infer {

/// An expression that a declaration cannot state, such as a member of a structure. The message
/// says which part.
class HostExpressionError : public std::runtime_error {
 public:
  explicit HostExpressionError(const std::string& message, std::string unknown = {})
      : std::runtime_error(message), unknown_(std::move(unknown)) {}
  /// The number without a known value, as a key of Aliases ("config.rows"); empty if the cause is
  /// another one.
  const std::string& unknown() const { return unknown_; }

 private:
  std::string unknown_;
};

own::NodePointer integer_node(std::int64_t value);
/// An integer if the value is whole.
own::NodePointer real_node(double value);
own::NodePointer name_node(std::string name);
own::NodePointer operation(own::NodeKind kind, std::vector<own::NodePointer> operands,
                           std::string name = {});
/// An arithmetic operation.
own::NodePointer binary(own::NodeKind kind, const own::NodePointer& a, const own::NodePointer& b);
own::NodePointer negated(const own::NodePointer& a);
/// a << by or a >> by. Throws HostExpressionError unless `by` is a constant.
own::NodePointer shifted(const own::NodePointer& a, const own::NodePointer& by, bool is_left);
/// A call of a host function that declarations also have, or whose name says that it divides and
/// rounds up. Throws HostExpressionError for others.
own::NodePointer called(const std::string& name, const std::vector<own::NodePointer>& arguments);

/// Nodes by the names that they replace.
using Replacements = std::map<std::string, own::NodePointer, std::less<>>;
own::NodePointer replaced(const own::NodePointer& node, const Replacements& by);
/// Throws HostExpressionError if the result is no expression of a declaration.
own::Expression replaced(const own::Expression& expression, const Replacements& by);
std::vector<own::Expression> replaced(const std::vector<own::Expression>& expressions,
                                      const Replacements& by);

/// The expression as a declaration states it.
std::string text_of(const own::Node& node);

/// The integer, if the expression is one.
std::optional<std::int64_t> constant_of(const own::Node& node);

}  // namespace gpuexp::infer
