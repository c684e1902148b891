#include "infer/set_variables.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "infer/host_expression.hpp"
#include "own/parameter_types.hpp"
#include "own/variable_binding.hpp"

namespace gpuexp::infer {

namespace {

/// The constant integer of `&variable`; empty for other sources.
std::optional<std::string> value_of(const SymbolUse& use, const HostCode& code) {
  if (use.source.size() != 2 || !use.source[0].is("&")) return std::nullopt;
  const Tokens variable{use.source[1]};
  try {
    const own::NodePointer value = HostExpressions(code, use.at).expression(variable);
    const bool is_integer = value->kind == own::NodeKind::integer;
    return is_integer ? std::optional(text_of(*value)) : std::nullopt;
  } catch (const HostExpressionError&) {
    return std::nullopt;
  }
}

}  // namespace

SetVariables variables_set_by(const HostCode& code, const CompiledModule& module) {
  SetVariables set;
  const std::vector<own::OwnVariable> variables =
      own::own_variables(module.kernels().data(), module.source_text());
  for (const SymbolUse& use : code.symbol_uses()) {
    const auto variable = std::ranges::find(variables, use.variable, &own::OwnVariable::name);
    const bool is_known =
        std::ranges::find(set.buffers, use.variable, &InferredBuffer::name) != set.buffers.end();
    if (variable == variables.end() || is_known) continue;
    const auto type = own::lane_element_type(variable->type.value_or(CType{}));
    const std::string where =
        fmt::format("{}, which the host code sets in {}:{}", use.variable, use.file, use.line);
    if (!type) {
      set.notes.push_back(fmt::format("not declared: the {} variable {}, whose type is not known",
                                      own::memory_space_of(*variable), where));
      continue;
    }
    InferredBuffer buffer;
    buffer.name = use.variable;
    buffer.type = *type;
    const std::int64_t count = variable->bytes / static_cast<std::int64_t>(size_of(*type));
    buffer.extents = {fmt::format("{}", count)};
    const bool may_have_value = count == 1 && own::is_integer(*type);
    const auto value = may_have_value ? value_of(use, code) : std::nullopt;
    if (value) {
      buffer.fill = *value;
    } else if (own::is_integer(*type)) {
      buffer.fill = "zeros";
    }
    set.notes.push_back(fmt::format(
        "assumed: the contents of the {} variable {}{}", own::memory_space_of(*variable), where,
        buffer.fill.empty() ? "" : "; the kernels were executed with zeros in it"));
    set.buffers.push_back(std::move(buffer));
  }
  return set;
}

}  // namespace gpuexp::infer
