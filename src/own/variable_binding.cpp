#include "own/variable_binding.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/names.hpp"
#include "compile/variable_symbols.hpp"
#include "own/parameter_types.hpp"

namespace gpuexp::own {

namespace {

/// The variable with the buffer's name; null if there is none.
const OwnVariable* variable_of(const Bound& bound, const BoundBuffer& buffer,
                               const std::vector<OwnVariable>& variables) {
  const std::string& name = buffer.declared.name;
  const auto has_name = [&](const OwnVariable& variable) { return variable.name == name; };
  const auto found = std::ranges::find_if(variables, has_name);
  if (found == variables.end()) return nullptr;
  if (std::ranges::count_if(variables, has_name) > 1)
    fail(bound.file, buffer.declared.place,
         fmt::format("the file has several variables '{}' in different namespaces; rename all but "
                     "one",
                     name));
  return &*found;
}

DataType type_of(const Bound& bound, const BoundBuffer& buffer, const OwnVariable& variable) {
  if (!variable.type)
    fail(bound.file, buffer.declared.place,
         fmt::format("the text of the file does not show the type of the {} variable '{}'; declare "
                     "it in this file, without a macro",
                     memory_space_of(variable), variable.name));
  CType element = *variable.type;
  element.lanes = 1;  // the elements of float4 are buffer elements of type float
  if (const auto type = element_type(element)) return *type;
  fail(bound.file, buffer.declared.place,
       fmt::format("the {} variable '{}' has the type '{}', which is not supported; expected {}",
                   memory_space_of(variable), variable.name, shorten(element.text),
                   element_types_text()));
}

void set_variable_role(Bound& bound, std::size_t index) {
  BoundBuffer& buffer = bound.buffers[index];
  const DeclaredBuffer& declared = buffer.declared;
  buffer.role = declared.role.value_or(BufferRole::input);
  if (!is_output(buffer.role)) return;
  if (buffer.variable->is_constant)
    fail(bound.file, declared.place,
         fmt::format("'{0}' is a __constant__ variable, which kernels cannot write; declare it as "
                     "'in {0}'",
                     declared.name));
  if (buffer.role == BufferRole::output && declared.fill)
    fail(bound.file, declared.fill->place,
         fmt::format("'{0}' is an output, so it has no contents before the launch; if kernels read "
                     "them, declare it as 'in_out {0}'",
                     declared.name));
  for (BoundVariant& variant : bound.variants)
    variant.written_variables.push_back(index);
}

}  // namespace

std::string memory_space_of(const OwnVariable& variable) {
  return variable.is_constant ? "__constant__" : "__device__";
}

std::vector<OwnVariable> own_variables(const ModuleData& module, std::string_view source) {
  const std::vector<DeclaredVariable> declared = variables_in(source);
  std::vector<OwnVariable> variables;
  for (const ModuleVariable& variable : module.variables) {
    const std::string name = variable_name(variable.lowered_name);
    if (name.empty()) continue;
    OwnVariable& own = variables.emplace_back();
    own.name = name;
    own.lowered_name = variable.lowered_name;
    own.is_constant = variable.is_constant;
    own.bytes = static_cast<std::int64_t>(variable.bytes);
    const auto found = std::ranges::find(declared, name, &DeclaredVariable::name);
    if (found != declared.end()) own.type = found->type;
  }
  return variables;
}

void bind_variables(Bound& bound, const std::vector<OwnVariable>& variables) {
  for (std::size_t i = 0; i < bound.buffers.size(); ++i) {
    BoundBuffer& buffer = bound.buffers[i];
    const auto uses = [&](const BoundVariant& v) { return v.passes(i) || v.writes(i); };
    if (std::ranges::any_of(bound.variants, uses)) continue;
    const OwnVariable* const variable = variable_of(bound, buffer, variables);
    if (!variable) continue;
    buffer.variable = *variable;
    buffer.type = type_of(bound, buffer, *variable);
    set_variable_role(bound, i);
  }
}

}  // namespace gpuexp::own
