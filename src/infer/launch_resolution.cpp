#include "infer/launch_resolution.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "own/parameter_types.hpp"

namespace gpuexp::infer {

using own::Expression;
using own::NodeKind;
using own::NodePointer;

namespace {

bool is_real_type(const CType& type) {
  return type.element == CElement::fp32 || type.element == CElement::fp64;
}

/// Whether the parameter is a flag or too small for a size.
bool is_fixed_type(const CType& type) {
  return type.element == CElement::boolean || type.element == CElement::character ||
         type.element == CElement::int8 || type.element == CElement::uint8;
}

LaunchParameter parameter_of(const KernelParameter& parameter, std::string name) {
  return {std::move(name), is_real_type(parameter.type), std::nullopt,
          is_fixed_type(parameter.type)};
}

std::optional<Value> literal_of(const own::Node& node, bool is_real) {
  if (node.kind == NodeKind::integer)
    return is_real ? Value(static_cast<double>(node.integer)) : Value(node.integer);
  if (node.kind == NodeKind::real && is_real) return Value(node.real);
  if (node.kind == NodeKind::negate) {
    const auto value = literal_of(node.operand(0), is_real);
    if (value && std::holds_alternative<double>(*value)) return Value(-std::get<double>(*value));
  }
  return std::nullopt;
}

Expression parsed_text(const std::string& text) {
  try {
    return Expression::parse(text);
  } catch (const own::ExpressionError& error) {
    throw HostExpressionError(fmt::format("'{}': {}", text, error.what()));
  }
}

bool is_single_name(const Tokens& tokens) {
  return tokens.size() == 1 && tokens[0].is_word() &&
         std::isdigit(static_cast<unsigned char>(tokens[0].text[0])) == 0;
}

std::set<std::string> names_in(const std::vector<Expression>& expressions) {
  std::set<std::string> names;
  for (const Expression& expression : expressions)
    names.merge(expression.names());
  return names;
}

/// Whether a variable's name says that it is a number of threads.
bool names_threads(const std::string& name) {
  const std::string lower = lower_case(name);
  return lower.find("block") != std::string::npos || lower.find("thread") != std::string::npos;
}

class LaunchResolver {
 public:
  LaunchResolver(const KernelSignature& kernel, const TextLaunch& launch, const HostCode& code)
      : kernel_(kernel), launch_(launch), code_(code), resolved_(launch_by_names(kernel)) {}

  ResolvedLaunch resolved() {
    if (launch_.arguments.size() != kernel_.parameters.size())
      throw HostExpressionError(fmt::format("{} arguments for {} parameters",
                                            launch_.arguments.size(), kernel_.parameters.size()));
    for (std::size_t i = 0; i < kernel_.parameters.size(); ++i)
      find_alias(i);
    settle_computed();
    const HostExpressions host(code_, launch_.at, aliases_);
    resolved_.block = expressions(host.dimensions(launch_.block));
    const NodePointer bytes = launch_.bytes.empty() ? nullptr : host.expression(launch_.bytes);
    if (bytes && constant_of(*bytes) != 0) resolved_.shared_bytes = parsed_text(text_of(*bytes));
    add_names_of_block();
    add_grid(host);
    return std::move(resolved_);
  }

 private:
  static std::vector<Expression> expressions(const std::vector<NodePointer>& nodes) {
    std::vector<Expression> all;
    for (const NodePointer& node : nodes)
      all.push_back(parsed_text(text_of(*node)));
    return all;
  }

  auto find_parameter(const std::string& name) {
    return std::ranges::find(resolved_.parameters, name, &LaunchParameter::name);
  }
  bool is_parameter(const std::string& name) {
    return find_parameter(name) != resolved_.parameters.end();
  }
  /// Whether the name is that of a kernel's parameter, but the host code means another variable.
  bool is_ambiguous(const std::string& name) const {
    const bool is_alias =
        std::ranges::any_of(aliases_, [&](const auto& alias) { return alias.second == name; });
    if (is_alias) return false;
    for (std::size_t i = 0; i < kernel_.parameters.size(); ++i)
      if (declared_name(kernel_.parameters[i], i) == name) return true;
    return false;
  }
  void require_unambiguous(const std::string& name) const {
    if (is_ambiguous(name))
      throw HostExpressionError(fmt::format(
          "'{}', which is a variable of the host code and another parameter of the kernel", name));
  }

  /// A number's argument is a variable that the declaration knows by the parameter's name, a
  /// constant, which becomes the parameter's value, or an expression.
  void find_alias(std::size_t i) {
    if (kernel_.parameters[i].is_pointer) return;
    const Tokens& argument = launch_.arguments[i];
    const std::string name = declared_name(kernel_.parameters[i], i);
    NodePointer value;
    try {
      value = HostExpressions(code_, launch_.at).expression(argument);
    } catch (const HostExpressionError& error) {
      resolved_.notes.push_back(
          fmt::format("assumed: {} is a size of its own; the host code "
                      "computes it from {}",
                      name, error.what()));
      return;
    }
    LaunchParameter& declared = *find_parameter(name);
    declared.value = literal_of(*value, declared.is_real);
    const bool is_variable = is_single_name(argument);
    if (is_variable && (declared.value || value->kind == NodeKind::name)) {
      aliases_.emplace(argument[0].text, name);
    } else if (!declared.value && !declared.is_real) {
      computed_.push_back(i);
    }
  }

  /// A variable that the host code computes is known by the parameter's name, too, unless it is
  /// computed from other arguments.
  void settle_computed() {
    for (const std::size_t i : computed_) {
      const Tokens& argument = launch_.arguments[i];
      const NodePointer value = HostExpressions(code_, launch_.at, aliases_).expression(argument);
      const Expression computed = parsed_text(text_of(*value));
      const std::set<std::string> names = computed.names();
      const bool is_of_arguments = std::ranges::all_of(names, [&](const std::string& name) {
        return is_parameter(name) && !is_ambiguous(name);
      });
      const std::string declared = declared_name(kernel_.parameters[i], i);
      if (is_single_name(argument) && !is_of_arguments) {
        aliases_.emplace(argument[0].text, declared);
        continue;
      }
      resolved_.arguments[i] = computed;
      resolved_.parameters.erase(find_parameter(declared));
      for (const std::string& name : names) {
        require_unambiguous(name);
        if (!is_parameter(name)) resolved_.parameters.push_back({name, false, std::nullopt, false});
      }
    }
  }

  /// The number of threads of a block does not vary with sizes.
  void add_names_of_block() {
    constexpr std::int64_t kThreads = 256;
    constexpr std::int64_t kSide = 16;
    std::set<std::string> names = names_in(resolved_.block);
    if (resolved_.shared_bytes) names.merge(resolved_.shared_bytes->names());
    for (const std::string& name : names) {
      require_unambiguous(name);
      if (is_parameter(name) && !names_threads(name)) continue;
      if (!is_parameter(name)) resolved_.parameters.push_back({name, false, std::nullopt, false});
      LaunchParameter& threads = *find_parameter(name);
      threads.is_fixed = true;
      if (threads.value) continue;
      threads.value = names_in(resolved_.block).size() > 1 ? kSide : kThreads;
      resolved_.notes.push_back(
          fmt::format("assumed: {} = {}", name, std::get<std::int64_t>(*threads.value)));
    }
  }

  /// The grid remains empty if it depends on more than the arguments and the block.
  void add_grid(const HostExpressions& host) {
    std::vector<Expression> grid;
    std::string why;
    try {
      grid = expressions(host.dimensions(launch_.grid));
      for (const std::string& name : names_in(grid))
        if (!is_parameter(name) || is_ambiguous(name)) why = name;
    } catch (const HostExpressionError& error) {
      why = error.what();
    }
    if (why.empty()) {
      resolved_.grid = std::move(grid);
    } else {
      resolved_.notes.push_back(
          fmt::format("the text does not say how the grid follows from the arguments: {}", why));
    }
  }

  const KernelSignature& kernel_;
  const TextLaunch& launch_;
  const HostCode& code_;
  ResolvedLaunch resolved_;
  Aliases aliases_;
  std::vector<std::size_t> computed_;  ///< parameters whose arguments are expressions
};

}  // namespace

std::string declared_name(const KernelParameter& parameter, std::size_t index) {
  const std::string& name = parameter.name;
  const bool is_ascii = std::ranges::all_of(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
  if (name.empty() || !is_ascii) return fmt::format("p{}", index);
  const bool is_function = name == "sum" || name == "before" ||
                           std::ranges::any_of(own::function_rules(),
                                               [&](const auto& rule) { return rule.name == name; });
  return is_function ? name + "_" : name;
}

std::string unsupported_parameter(const KernelSignature& kernel) {
  for (const KernelParameter& parameter : kernel.parameters) {
    const CType& type = parameter.type;
    const bool is_supported =
        parameter.is_pointer ? own::element_type(type).has_value() : own::is_number(type);
    if (is_supported) continue;
    const std::string what = fmt::format("parameter '{}' ", parameter.spelled);
    if (!parameter.is_pointer)
      return what + "is not a number; expected bool, an integer type, float or double";
    if (type.text.ends_with('*')) return what + "is a pointer to pointers; expected one to numbers";
    if (type.lanes > 1)
      return what + fmt::format(
                        "points to vectors of {0} numbers; declare a buffer of {0} times as "
                        "many elements by hand, as in '{1} x[{0}*n]'",
                        type.lanes, own::lane_type(type).text);
    return what + "points to a structure or to an unknown type; expected a pointer to numbers";
  }
  return "";
}

ResolvedLaunch launch_by_names(const KernelSignature& kernel) {
  ResolvedLaunch launch;
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const std::string name = declared_name(kernel.parameters[i], i);
    launch.arguments.push_back(parsed_text(name));
    if (!kernel.parameters[i].is_pointer)
      launch.parameters.push_back(parameter_of(kernel.parameters[i], name));
  }
  return launch;
}

ResolvedLaunch resolved_launch(const KernelSignature& kernel, const TextLaunch& launch,
                               const HostCode& code) {
  ResolvedLaunch resolved = LaunchResolver(kernel, launch, code).resolved();
  resolved.notes.insert(resolved.notes.begin(),
                        fmt::format("launched in {}:{}", launch.file, launch.line));
  return resolved;
}

std::string resolved_template_arguments(const TextLaunch& launch, const HostCode& code) {
  const HostExpressions host(code, launch.at);
  std::vector<std::string> arguments;
  for (const Tokens& argument : launch.template_arguments) {
    if (type_named(argument).element != CElement::unknown) {
      arguments.push_back(joined(argument, 0, argument.size()));
      continue;
    }
    const bool is_defined = is_single_name(argument) && code.defines(argument[0].text);
    if (is_defined && !code.value(argument[0].text, launch.at)) {
      arguments.emplace_back(argument[0].text);
      continue;
    }
    const NodePointer value = host.expression(argument);
    if (!constant_of(*value))
      throw HostExpressionError(
          fmt::format("the template argument '{}'", joined(argument, 0, argument.size())));
    arguments.push_back(text_of(*value));
  }
  return fmt::format("{}", fmt::join(arguments, ", "));
}

}  // namespace gpuexp::infer
