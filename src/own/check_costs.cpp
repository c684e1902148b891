#include "own/check_costs.hpp"

#include <utility>
#include <variant>
#include <vector>

namespace gpuexp::own {

namespace {

/// Values of the parameters as the kernels get them.
Names names_of_checks(const Bound& bound, const Names& names) {
  Names rounded = names;
  for (const std::string& name : bound.fp32_parameters) {
    auto* const real = std::get_if<double>(&rounded.find(name)->second);
    if (real) *real = static_cast<float>(*real);
  }
  return rounded;
}

}  // namespace

CompiledCheck compiled_without_rounding(const Bound& bound, std::size_t output,
                                        const OwnProblem& problem, const OwnData& data) {
  CheckBuffers buffers;
  const auto view = [&](std::size_t i) {
    return CheckBuffer{data.buffers[i], bound.buffers[i].type, problem.extents[i]};
  };
  for (std::size_t i = 0; i < bound.buffers.size(); ++i) {
    const BoundBuffer& buffer = bound.buffers[i];
    if (buffer.role == BufferRole::input) buffers.inputs[buffer.declared.name] = view(i);
    if (buffer.role == BufferRole::in_out) buffers.before[buffer.declared.name] = view(i);
  }
  buffers.output_extents = problem.extents[output];
  buffers.output_type = bound.buffers[output].type;
  const DeclaredCheck& check = *bound.check_of(output);
  return at_place(bound.file, check.place, [&] {
    return check.check.compiled(names_of_checks(bound, problem.names), buffers);
  });
}

CheckCost cost_of(const Bound& bound, std::size_t output, const OwnProblem& problem) {
  const OwnData no_data{std::vector<void*>(bound.buffers.size(), nullptr)};
  const CompiledCheck compiled = compiled_without_rounding(bound, output, problem, no_data);
  const CheckProgram& program = compiled.program;
  return {program.cost, program.unsplit_cost + (program.cost - program.unsplit_cost) / kSumParts,
          compiled.terms, compiled.shared_cost};
}

}  // namespace gpuexp::own
