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

/// Adds the names of which the expression is a product or a quotient, without the divisors.
void add_counting(const own::Node& node, std::set<std::string>& names) {
  const bool is_quotient =
      node.kind == NodeKind::divide ||
      (node.kind == NodeKind::call && (node.name == "ceil_div" || node.name == "floor_div"));
  if (node.kind == NodeKind::name) names.insert(node.name);
  if (node.kind == NodeKind::multiply || is_quotient) add_counting(node.operand(0), names);
  if (node.kind == NodeKind::multiply) add_counting(node.operand(1), names);
}

/// A name for a number without a value: "rows" for "config.rows", "x_size_0" for "x.size(0)".
std::string name_of(const std::string& unknown) {
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  std::string name;
  for (const char c : unknown) {
    if (is_part(c) || (!name.empty() && name.back() != '_')) name += is_part(c) ? c : '_';
  }
  const bool is_member = !unknown.empty() && is_part(unknown.back());
  if (is_member) {
    const std::size_t end = unknown.find_last_of(".>");
    return end == std::string::npos ? unknown : unknown.substr(end + 1);
  }
  while (name.ends_with('_'))
    name.pop_back();
  return name;
}

class LaunchResolver {
 public:
  LaunchResolver(const KernelSignature& kernel, const TextLaunch& launch, const HostCode& code)
      : kernel_(kernel), launch_(launch), code_(code), resolved_(launch_by_names(kernel)) {}

  ResolvedLaunch resolved() {
    if (launch_.arguments.size() != kernel_.parameters.size())
      throw HostExpressionError(fmt::format("{} arguments for {} parameters",
                                            launch_.arguments.size(), kernel_.parameters.size()));
    for (std::size_t i = 0; i < kernel_.parameters.size(); ++i) {
      if (kernel_.parameters[i].is_pointer) {
        find_memset(i);
        find_allocation(i);
      } else {
        find_alias(i);
      }
    }
    settle_unknown();
    settle_computed();
    const HostExpressions host(code_, launch_.at, aliases_);
    resolved_.block = expressions(host.dimensions(launch_.block));
    const NodePointer bytes = launch_.bytes.empty() ? nullptr : host.expression(launch_.bytes);
    if (bytes && constant_of(*bytes) != 0) resolved_.shared_bytes = parsed_text(text_of(*bytes));
    add_names_of_block();
    add_grid();
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

  /// A byte that host code stores to the whole buffer before the launch.
  void find_memset(std::size_t i) {
    const auto tokens = code_.memset_before(launch_.arguments[i], launch_.at);
    if (!tokens) return;
    try {
      constexpr std::int64_t kMaxByte = 255;
      const auto value = constant_of(*HostExpressions(code_, launch_.at).expression(*tokens));
      if (value) resolved_.memsets.push_back({i, *value & kMaxByte});
    } catch (const HostExpressionError&) {
      // The buffer has contents that the text does not say.
    }
  }

  void find_allocation(std::size_t i) {
    const auto tokens = code_.allocation_before(launch_.arguments[i], launch_.at);
    if (!tokens) return;
    try {
      const auto bytes = constant_of(*HostExpressions(code_, launch_.at).expression(*tokens));
      if (bytes) resolved_.allocations.push_back({i, *bytes});
    } catch (const HostExpressionError&) {
      // The size is one that the text does not say.
    }
  }

  /// A number's argument is a variable that the declaration knows by the parameter's name, a
  /// constant, which becomes the parameter's value, or an expression.
  void find_alias(std::size_t i) {
    const Tokens& argument = launch_.arguments[i];
    const std::string name = declared_name(kernel_.parameters[i], i);
    const std::string text = alias_text(argument);
    NodePointer value;
    try {
      value = HostExpressions(code_, launch_.at).expression(argument);
    } catch (const HostExpressionError&) {
      if (!text.empty()) aliases_.emplace(text, name);
      if (text.empty()) unknown_.push_back(i);
      return;
    }
    LaunchParameter& declared = *find_parameter(name);
    declared.value = literal_of(*value, declared.is_real);
    if (!text.empty() && (declared.value || value->kind == NodeKind::name)) {
      aliases_.emplace(text, name);
    } else if (!declared.value && !declared.is_real) {
      computed_.push_back(i);
    }
  }

  /// Expressions of other arguments, such as members of structures, are computed. Others are not
  /// known.
  void settle_unknown() {
    for (const std::size_t i : unknown_) {
      try {
        HostExpressions(code_, launch_.at, aliases_).expression(launch_.arguments[i]);
        computed_.push_back(i);
      } catch (const HostExpressionError& error) {
        resolved_.notes.push_back(
            fmt::format("assumed: {} is a size of its own; the host code computes it from {}",
                        declared_name(kernel_.parameters[i], i), error.what()));
      }
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
      const std::string text = alias_text(argument);
      if (!text.empty() && !is_of_arguments) {
        aliases_.emplace(text, declared);
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

  /// Numbers without a known value that are members, elements or results are known by their last
  /// names.
  std::vector<NodePointer> grid_of_names(std::string& why) {
    for (;;) {
      try {
        return HostExpressions(code_, launch_.at, aliases_).dimensions(launch_.grid);
      } catch (const HostExpressionError& error) {
        why = error.what();
        const std::string name = name_of(error.unknown());
        const bool is_new = !name.empty() && !is_parameter(name) && !is_ambiguous(name) &&
                            aliases_.emplace(error.unknown(), name).second;
        if (!is_new) return {};
        why.clear();
      }
    }
  }

  /// Adds constant variables that count blocks, or whose multiple or fraction does.
  void add_constants(NamedConstants& sizes) {
    NamedConstants constants;
    std::set<std::string> of_block;
    try {
      const HostExpressions host(code_, launch_.at, aliases_);
      std::set<std::string> counting;
      for (const NodePointer& side : host.dimensions_by_name(launch_.grid, constants))
        add_counting(*side, counting);
      NamedConstants ignored;
      for (const NodePointer& side : host.dimensions_by_name(launch_.block, ignored))
        of_block.merge(parsed_text(text_of(*side)).names());
      for (const auto& [name, value] : constants) {
        const bool is_size = counting.contains(name) && !of_block.contains(name) &&
                             !is_parameter(name) && !is_ambiguous(name) && value > 0;
        if (is_size && aliases_.emplace(name, name).second) sizes.emplace(name, value);
      }
    } catch (const HostExpressionError&) {
      // The grid has an operation on constants that declarations lack.
    }
  }

  /// The grid remains empty if it depends on more than the arguments, the block, and variables that
  /// may be sizes.
  void add_grid() {
    std::string why;
    if (grid_of_names(why).empty()) return resolved_.notes.push_back(unknown_grid_note(why));
    NamedConstants constants;
    add_constants(constants);
    std::vector<Expression> grid = expressions(grid_of_names(why));
    std::vector<LaunchParameter> sizes;
    for (const std::string& name : names_in(grid)) {
      if (is_parameter(name) && !is_ambiguous(name)) continue;
      if (is_ambiguous(name)) return resolved_.notes.push_back(unknown_grid_note(name));
      LaunchParameter& size = sizes.emplace_back(LaunchParameter{name, false, {}, false, true});
      if (const auto found = constants.find(name); found != constants.end())
        size.value = found->second;
    }
    resolved_.grid = std::move(grid);
    resolved_.parameters.insert(resolved_.parameters.end(), sizes.begin(), sizes.end());
  }

  const KernelSignature& kernel_;
  const TextLaunch& launch_;
  const HostCode& code_;
  ResolvedLaunch resolved_;
  Aliases aliases_;
  std::vector<std::size_t> computed_;  ///< parameters whose arguments are expressions
  std::vector<std::size_t> unknown_;   ///< parameters whose arguments have parts without a value
};

}  // namespace

std::string unknown_grid_note(const std::string& cause) {
  return fmt::format(
      "not found: how the grid follows from the kernel's arguments; the host code computes it from "
      "{}",
      cause);
}

ResolvedLaunch without_sizes_of_grid(ResolvedLaunch launch, const std::set<std::string>& names) {
  Replacements values;
  std::vector<std::string> unknown;
  for (const LaunchParameter& parameter : launch.parameters) {
    if (!parameter.is_of_grid || !names.contains(parameter.name)) continue;
    if (parameter.value) {
      values[parameter.name] = integer_node(std::get<std::int64_t>(*parameter.value));
    } else {
      unknown.push_back(parameter.name);
    }
  }
  std::erase_if(launch.parameters, [&](const LaunchParameter& parameter) {
    return parameter.is_of_grid && (!unknown.empty() || names.contains(parameter.name));
  });
  if (unknown.empty()) {
    launch.grid = replaced(launch.grid, values);
    return launch;
  }
  launch.grid.clear();
  launch.notes.push_back(unknown_grid_note(fmt::format("{}", fmt::join(unknown, ", "))));
  return launch;
}

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
        parameter.is_pointer ? own::lane_element_type(type).has_value() : own::is_number(type);
    if (is_supported) continue;
    const std::string what = fmt::format("parameter '{}' ", parameter.spelled);
    if (!parameter.is_pointer)
      return what + "is not a number; expected bool, an integer type, float or double";
    if (type.text.ends_with('*')) return what + "is a pointer to pointers; expected one to numbers";
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
