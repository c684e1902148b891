// Buffers whose contents are those of a __constant__ or __device__ variable of the file.
#pragma once

#include <string_view>
#include <vector>

#include "own/bound.hpp"
#include "own/own_problem.hpp"
#include "sass/module_data.hpp"

namespace gpuexp::own {

/// The variables of a module that a declaration can name.
std::vector<OwnVariable> own_variables(const ModuleData& module, std::string_view source);

/// Sets BoundBuffer::variable, type and role of each buffer that no launch passes to a kernel and
/// that has the name of a variable. Throws DeclarationError.
void bind_variables(Bound& bound, const std::vector<OwnVariable>& variables);

/// Throws DeclarationError if a buffer does not have the size of its variable.
void check_variable_sizes(const Bound& bound, const OwnProblem& problem);

/// Copies from the input buffers to their variables, in the modules of all kernels.
Steps stored_inputs(const Bound& bound, const OwnProblem& problem, const OwnData& data);
/// Copies from the output buffers to their variables, in the modules of the variant's kernels, and
/// back. They are part of each launch, since all copies of the buffers share one variable.
Steps stored_outputs(const Bound& bound, const BoundVariant& variant, const OwnProblem& problem,
                     const OwnData& data);
Steps loaded_outputs(const Bound& bound, const BoundVariant& variant, const OwnProblem& problem,
                     const OwnData& data);

}  // namespace gpuexp::own
