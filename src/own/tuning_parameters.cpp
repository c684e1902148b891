#include "own/tuning_parameters.hpp"

#include <optional>

namespace gpuexp::own {

namespace {

/// Names in expressions.
class UsedNames {
 public:
  explicit UsedNames(const Bound& bound) : bound_(bound) {}

  void add(const PlacedExpression& expression) { names_.merge(expression.expression.names()); }
  void add(const std::optional<PlacedExpression>& expression) {
    if (expression) add(*expression);
  }
  void add(const std::vector<PlacedExpression>& expressions) {
    for (const PlacedExpression& expression : expressions)
      add(expression);
  }
  void add_template_arguments(const DeclaredLaunch& launch) {
    if (!launch.template_arguments) return;
    for (const DeclaredTemplateArgument& argument : *launch.template_arguments)
      if (const auto* const number = argument.number(bound_.parameters)) add(*number);
  }
  void add(const BoundLaunch& launch) {
    add(launch.declared.grid);
    add(launch.declared.block);
    add(launch.declared.shared_bytes);
    add_template_arguments(launch.declared);
    for (const BoundArgument& argument : launch.arguments)
      add(argument.number);
  }
  void add(const BoundVariant& variant) {
    for (const BoundStep& step : variant.steps) {
      if (const auto* const launch = std::get_if<BoundLaunch>(&step)) add(*launch);
      if (const auto* const memset = std::get_if<BoundMemset>(&step)) add(memset->declared.value);
    }
  }
  void add_problem() {
    for (const BoundBuffer& buffer : bound_.buffers) {
      add(buffer.declared.extents);
      if (!buffer.declared.fill) continue;
      add(buffer.declared.fill->low);
      add(buffer.declared.fill->high);
    }
    for (const DeclaredCheck& check : bound_.checks)
      names_.merge(check.check.names());
    if (bound_.reference) add(*bound_.reference);
  }

  bool contain(const std::string& name) const { return names_.contains(name); }

 private:
  const Bound& bound_;
  std::set<std::string> names_;
};

}  // namespace

std::set<std::string> tuning_parameters(const Bound& bound) {
  UsedNames used(bound);
  for (const BoundVariant& variant : bound.variants) {
    for (const BoundLaunch* launch : variant.launches()) {
      used.add(launch->declared.block);
      used.add_template_arguments(launch->declared);
    }
  }
  std::set<std::string> names;
  for (const DeclaredParameter& parameter : bound.parameters)
    if (parameter.is_macro || used.contain(parameter.name)) names.insert(parameter.name);
  return names;
}

std::vector<std::string> unused_parameters(const Bound& bound, const BoundVariant& variant) {
  UsedNames used(bound);
  used.add_problem();
  used.add(variant);
  for (const DeclaredWork& work : bound.work)
    if (work.variant.empty() || work.variant == variant.id) used.add(work.amount);
  std::vector<std::string> names;
  for (const DeclaredParameter& parameter : bound.parameters)
    if (!used.contain(parameter.name)) names.push_back(parameter.name);
  return names;
}

}  // namespace gpuexp::own
