#include "own/tuning_parameters.hpp"

namespace gpuexp::own {

std::set<std::string> tuning_parameters(const Bound& bound) {
  std::set<std::string> used;
  const auto add = [&](const PlacedExpression& expression) {
    used.merge(expression.expression.names());
  };
  for (const BoundVariant& variant : bound.variants) {
    for (const BoundLaunch* launch : variant.launches()) {
      for (const PlacedExpression& side : launch->declared.block)
        add(side);
      if (!launch->declared.template_arguments) continue;
      for (const DeclaredTemplateArgument& argument : *launch->declared.template_arguments)
        if (const auto* const number = argument.number(bound.parameters)) add(*number);
    }
  }
  std::set<std::string> names;
  for (const DeclaredParameter& parameter : bound.parameters)
    if (parameter.is_macro || used.contains(parameter.name)) names.insert(parameter.name);
  return names;
}

}  // namespace gpuexp::own
