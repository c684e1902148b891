#include "own/module_variables.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/names.hpp"
#include "compile/variable_symbols.hpp"
#include "own/parameter_types.hpp"
#include "sass/loaded_kernels.hpp"

namespace gpuexp::own {

namespace {

std::string kind_of(const OwnVariable& variable) {
  return variable.is_constant ? "__constant__" : "__device__";
}

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
                     kind_of(variable), variable.name));
  CType element = *variable.type;
  element.lanes = 1;  // the elements of float4 are buffer elements of type float
  if (const auto type = element_type(element)) return *type;
  fail(bound.file, buffer.declared.place,
       fmt::format("the {} variable '{}' has the type '{}', which is not supported; expected {}",
                   kind_of(variable), variable.name, shorten(element.text), element_types_text()));
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

/// Kernels of the variant at the problem's values, each once.
std::set<const void*> addresses_of_kernels(const BoundVariant& variant, const OwnProblem& problem) {
  std::set<const void*> kernels;
  for (const BoundLaunch* launch : variant.launches())
    kernels.insert(launch->kernel(problem.names));
  return kernels;
}

std::int64_t bytes_of(const Bound& bound, std::size_t index, const OwnProblem& problem) {
  return problem.count(index) * static_cast<std::int64_t>(size_of(bound.buffers[index].type));
}

/// A copy between a buffer and its variable in the module of a kernel.
struct VariableCopy {
  const Bound& bound;
  std::size_t index;
  const OwnProblem& problem;
  const OwnData& data;
  const void* kernel;

  void* buffer() const { return data.buffers[index]; }
  void* variable() const {
    return LoadedKernels::global().variable(kernel, bound.buffers[index].variable->lowered_name);
  }
};

Steps copied(const VariableCopy& copy, void* to, const void* from) {
  CopyStep step;
  step.to = to;
  step.from = from;
  step.bytes = bytes_of(copy.bound, copy.index, copy.problem);
  return Steps(std::move(step));
}

template <class CopyOf>
Steps for_outputs(const Bound& bound, const BoundVariant& variant, const OwnProblem& problem,
                  const OwnData& data, const CopyOf& copy_of) {
  Steps steps;
  for (const std::size_t i : variant.written_variables) {
    for (const void* kernel : addresses_of_kernels(variant, problem))
      steps += copy_of(VariableCopy{bound, i, problem, data, kernel});
  }
  return steps;
}

}  // namespace

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

void check_variable_sizes(const Bound& bound, const OwnProblem& problem) {
  for (std::size_t i = 0; i < bound.buffers.size(); ++i) {
    const BoundBuffer& buffer = bound.buffers[i];
    if (!buffer.variable || bytes_of(bound, i, problem) == buffer.variable->bytes) continue;
    fail(
        bound.file, buffer.declared.place,
        fmt::format("'{0}' has {1} elements of type {2}, {3} bytes, but the {4} variable '{0}' has "
                    "{5} bytes; expected {6} elements",
                    buffer.declared.name, problem.count(i), name_of(buffer.type),
                    bytes_of(bound, i, problem), kind_of(*buffer.variable), buffer.variable->bytes,
                    buffer.variable->bytes / static_cast<std::int64_t>(size_of(buffer.type))));
  }
}

Steps stored_inputs(const Bound& bound, const OwnProblem& problem, const OwnData& data) {
  std::set<const void*> kernels;
  for (const BoundVariant& variant : bound.variants)
    kernels.merge(addresses_of_kernels(variant, problem));
  if (bound.reference) kernels.merge(addresses_of_kernels(*bound.reference, problem));
  Steps steps;
  for (std::size_t i = 0; i < bound.buffers.size(); ++i) {
    if (!bound.buffers[i].variable || bound.buffers[i].role != BufferRole::input) continue;
    for (const void* kernel : kernels) {
      const VariableCopy copy{bound, i, problem, data, kernel};
      steps += copied(copy, copy.variable(), copy.buffer());
    }
  }
  return steps;
}

Steps stored_outputs(const Bound& bound, const BoundVariant& variant, const OwnProblem& problem,
                     const OwnData& data) {
  return for_outputs(bound, variant, problem, data, [](const VariableCopy& copy) {
    return copied(copy, copy.variable(), copy.buffer());
  });
}

Steps loaded_outputs(const Bound& bound, const BoundVariant& variant, const OwnProblem& problem,
                     const OwnData& data) {
  return for_outputs(bound, variant, problem, data, [](const VariableCopy& copy) {
    return copied(copy, copy.buffer(), copy.variable());
  });
}

}  // namespace gpuexp::own
