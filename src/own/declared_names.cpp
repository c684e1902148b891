#include "own/declared_names.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/names.hpp"
#include "own/expression_tree.hpp"

namespace gpuexp::own {

namespace {

std::vector<std::string> parameter_names(const Declaration& declaration) {
  std::vector<std::string> names;
  for (const DeclaredParameter& parameter : declaration.parameters)
    names.push_back(parameter.name);
  return names;
}

class NameCheck {
 public:
  NameCheck(const Declaration& declaration, const Place& place)
      : declaration_(declaration), place_(place), known_(parameter_names(declaration)) {}

  void apply(const Node& node) {
    const bool reads_buffer = node.kind == NodeKind::index || node.kind == NodeKind::before;
    if (reads_buffer)
      fail_at(node, fmt::format("{}[...] reads a buffer; only a check can read buffers",
                                shorten(node.name)));
    if (node.kind == NodeKind::name && std::ranges::find(known_, node.name) == known_.end())
      fail_unknown(node);
    if (node.kind == NodeKind::sum) {
      apply(node.operand(0));
      known_.push_back(node.name);
      apply(node.operand(1));
      known_.pop_back();
      return;
    }
    for (const NodePointer& operand : node.operands)
      apply(*operand);
  }

 private:
  [[noreturn]] void fail_at(const Node& node, const std::string& message) const {
    fail(declaration_.file, after(place_, node.column), message);
  }
  [[noreturn]] void fail_unknown(const Node& node) const {
    const std::string name = shorten(node.name);
    if (declaration_.find_buffer(node.name))
      fail_at(node, fmt::format("'{}' is a buffer; expected a number or a parameter", name));
    if (known_.empty())
      fail_at(node, fmt::format("'{0}' has no value; declare it, such as in {0} = 1024", name));
    fail_at(node,
            fmt::format("'{0}' has no value; declare it, such as in {0} = 1024, or use a declared "
                        "parameter{1}",
                        name, allowed_names(node.name, known_)));
  }

  const Declaration& declaration_;
  Place place_;
  std::vector<std::string> known_;
};

}  // namespace

std::vector<const PlacedExpression*> expressions_of(const Declaration& declaration) {
  std::vector<const PlacedExpression*> all;
  const auto add_each = [&](const std::vector<PlacedExpression>& expressions) {
    for (const PlacedExpression& expression : expressions)
      all.push_back(&expression);
  };
  for (const DeclaredBuffer& buffer : declaration.buffers) {
    add_each(buffer.extents);
    if (!buffer.fill || !buffer.fill->low) continue;
    all.push_back(&*buffer.fill->low);
    if (buffer.fill->high) all.push_back(&*buffer.fill->high);
  }
  const auto add_steps = [&](const DeclaredVariant& variant) {
    for (const DeclaredStep& step : variant.steps) {
      if (const auto* const memset = std::get_if<DeclaredMemset>(&step)) {
        all.push_back(&memset->value);
        continue;
      }
      const auto& launch = std::get<DeclaredLaunch>(step);
      if (launch.template_arguments) {
        for (const DeclaredTemplateArgument& argument : *launch.template_arguments)
          if (const auto* const number = argument.number(declaration.parameters))
            all.push_back(number);
      }
      add_each(launch.grid);
      add_each(launch.block);
      if (launch.shared_bytes) all.push_back(&*launch.shared_bytes);
    }
  };
  for (const DeclaredVariant& variant : declaration.variants)
    add_steps(variant);
  if (declaration.reference) add_steps(declaration.reference->launch);
  add_each(declaration.requirements);
  for (const DeclaredWork& work : declaration.work)
    all.push_back(&work.amount);
  return all;
}

void check_names(const Declaration& declaration, const PlacedExpression& expression) {
  NameCheck(declaration, expression.place).apply(expression.expression.root());
}

void check_names(const Declaration& declaration) {
  for (const PlacedExpression* expression : expressions_of(declaration))
    check_names(declaration, *expression);
}

}  // namespace gpuexp::own
