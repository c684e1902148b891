#include "own/module_variables.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "own/variable_binding.hpp"
#include "sass/loaded_kernels.hpp"

namespace gpuexp::own {

namespace {

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

void check_variable_sizes(const Bound& bound, const OwnProblem& problem) {
  for (std::size_t i = 0; i < bound.buffers.size(); ++i) {
    const BoundBuffer& buffer = bound.buffers[i];
    if (!buffer.variable || bytes_of(bound, i, problem) == buffer.variable->bytes) continue;
    fail(bound.file, buffer.declared.place,
         fmt::format(
             "'{0}' has {1} elements of type {2}, {3} bytes, but the {4} variable '{0}' has "
             "{5} bytes; expected {6} elements",
             buffer.declared.name, problem.count(i), name_of(buffer.type),
             bytes_of(bound, i, problem), memory_space_of(*buffer.variable), buffer.variable->bytes,
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

Steps launch_steps(const Bound& bound, const BoundVariant& variant, const OwnProblem& problem,
                   const OwnData& data) {
  return stored_outputs(bound, variant, problem, data) + steps_of(bound, variant, problem, data) +
         loaded_outputs(bound, variant, problem, data);
}

}  // namespace gpuexp::own
